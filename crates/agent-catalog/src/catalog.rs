//! The catalog: the one handle through which the product asks about agents.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::agent_id::AgentId;
use crate::error::CatalogError;
use crate::host::HostEnvironment;
use crate::launch::{CommandSpec, LaunchCommand, VersionLease};
use crate::manifest::Manifest;

/// Whether an agent may be installed by being used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PreinstallPolicy {
    /// The first launch installs.
    #[default]
    InstallOnFirstUse,
    /// A launch of an agent that is not installed fails with [`CatalogError::AgentNotInstalled`].
    Required,
}

/// What a catalog needs to know; start from [`CatalogOptions::new`].
#[derive(Debug, Clone)]
pub struct CatalogOptions {
    /// The product's data directory.
    pub data_dir: PathBuf,
    /// Where the ACP registry is: `http`, `https` or `file`.
    pub registry_url: String,
    /// Agents that the user configured; they hide others of the same name.
    pub custom_agents: BTreeMap<AgentId, CommandSpec>,
    /// Whether launching may install.
    pub preinstall: PreinstallPolicy,
    /// The npm registry to use in place of the one npm is configured with.
    pub npm_registry: Option<String>,
    /// The command of the built-in `mock` agent; without it there is none.
    pub mock_command: Option<CommandSpec>,
    /// The machine's environment.
    pub host: HostEnvironment,
}

impl CatalogOptions {
    /// The public registry's address.
    pub const DEFAULT_REGISTRY_URL: &'static str =
        "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";

    /// Options with every default, for this process's environment.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let host = HostEnvironment::from_process();
        let npm_registry = host.text("SANDBOX_AGENT_NPM_REGISTRY").map(str::to_owned);
        Self {
            data_dir: data_dir.into(),
            registry_url: Self::DEFAULT_REGISTRY_URL.to_owned(),
            custom_agents: BTreeMap::new(),
            preinstall: PreinstallPolicy::default(),
            npm_registry,
            mock_command: None,
            host,
        }
    }
}

/// The agents of this machine. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Catalog {
    options: Arc<CatalogOptions>,
}

impl Catalog {
    /// The id of the built-in agent.
    pub const MOCK: &'static str = "mock";

    /// Makes a catalog. Touches no file and no network yet.
    ///
    /// # Errors
    /// [`CatalogError::Configuration`] for options that cannot work.
    pub fn new(options: CatalogOptions) -> Result<Self, CatalogError> {
        Ok(Self { options: Arc::new(options) })
    }

    /// Whether an agent of that id exists. Asks the registry only for ids that nobody else knows.
    pub async fn is_known(&self, id: &str) -> bool {
        self.configured_command(id).is_some() || Manifest::embedded().find(id).is_some()
    }

    /// How to start an agent, after installing it when it is not there yet.
    ///
    /// # Errors
    /// [`CatalogError::UnknownAgent`], [`CatalogError::AgentNotInstalled`], or why the install failed.
    pub async fn launch(&self, id: &str) -> Result<LaunchCommand, CatalogError> {
        if let Some(spec) = self.configured_command(id) {
            return Ok(LaunchCommand {
                program: self
                    .options
                    .host
                    .find_program(&spec.command)
                    .unwrap_or_else(|| spec.command.clone()),
                args: spec.args.iter().map(Into::into).collect(),
                env: spec.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
                cwd: spec.cwd.clone(),
                version: None,
                lease: VersionLease::default(),
            });
        }
        Err(CatalogError::UnknownAgent { agent: id.to_owned() })
    }

    /// The command of a custom agent or of the mock.
    fn configured_command(&self, id: &str) -> Option<&CommandSpec> {
        let custom = id.parse::<AgentId>().ok().and_then(|id| self.options.custom_agents.get(&id));
        custom.or_else(|| self.options.mock_command.as_ref().filter(|_| id == Self::MOCK))
    }
}

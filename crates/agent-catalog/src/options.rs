//! The options of a catalog.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::agent_id::AgentId;
use crate::host::HostEnvironment;
use crate::launch::CommandSpec;

/// Whether the first use of an agent may install it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PreinstallPolicy {
    /// The first launch of an agent installs it.
    #[default]
    InstallOnFirstUse,
    /// A launch of an agent that is not installed fails with [`crate::CatalogError::AgentNotInstalled`].
    Required,
}

/// The options of a catalog; start from [`CatalogOptions::new`].
#[derive(Debug, Clone)]
pub struct CatalogOptions {
    /// The product's data directory.
    pub data_dir: PathBuf,
    /// The address of the ACP registry: `http`, `https` or `file`.
    pub registry_url: String,
    /// Agents that the user configured; they take precedence over others of the same name.
    pub custom_agents: BTreeMap<AgentId, CommandSpec>,
    /// Whether launching an agent may install it.
    pub preinstall: PreinstallPolicy,
    /// The npm registry to use instead of npm's configured one.
    pub npm_registry: Option<String>,
    /// The command of the built-in `mock` agent; `None` disables it.
    pub mock_command: Option<CommandSpec>,
    /// The machine's environment.
    pub host: HostEnvironment,
}

impl CatalogOptions {
    /// The public registry's address.
    pub const DEFAULT_REGISTRY_URL: &'static str =
        "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";

    /// The default options, with the environment of this process.
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

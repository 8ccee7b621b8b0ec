//! Starts agents of the catalog for the engine.

use std::ffi::{OsStr, OsString};

use acp_instances::{BoxFuture, Caller, Launcher, Prepared, StartFailure, StartStep};
use agent_catalog::{Catalog, CatalogError, LaunchCommand, VersionLease};
use process_supervisor::LaunchSpec;

/// Environment variables of the server that agents must not see.
const TOKEN_VARIABLES: [&str; 2] = ["SANDBOX_AGENT_TOKEN", "SANDBOX_AGENT_TOKEN_FILE"];

fn is_hidden(name: &OsStr) -> bool {
    TOKEN_VARIABLES.iter().chain(&crate::notify::VARIABLES).any(|hidden| name == *hidden)
}

/// Starts agents of the catalog.
#[derive(Debug)]
pub(crate) struct CatalogLauncher {
    catalog: Catalog,
    /// How to list the agents, for the error about an unknown one. It differs between the server and local commands.
    list_hint: &'static str,
}

impl CatalogLauncher {
    pub(crate) fn new(catalog: Catalog, list_hint: &'static str) -> Self {
        Self { catalog, list_hint }
    }
}

impl Launcher for CatalogLauncher {
    fn resolve<'a>(&'a self, agent: &'a str, _: &'a Caller) -> BoxFuture<'a, Result<String, StartFailure>> {
        Box::pin(async move {
            if self.catalog.is_known(agent).await {
                let id = self.catalog.canonical(agent).map_err(|error| to_start_failure(&error))?;
                return Ok(id.to_string());
            }
            let mut detail = format!("there is no agent `{agent}`; {}", self.list_hint);
            if let Some(reason) = self.catalog.registry().cached().problem {
                detail += &format!(". The ACP registry could not be reached: {reason}");
            }
            Err(StartFailure::new(StartStep::UnknownAgent, detail).with("agent", agent))
        })
    }

    fn is_same(&self, bound: &str, named: &str) -> bool {
        self.catalog.canonical(named).is_ok_and(|id| id.as_str() == bound)
    }

    fn prepare<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<Prepared, StartFailure>> {
        Box::pin(async move {
            let command = self.catalog.launch(agent).await.map_err(|error| to_start_failure(&error))?;
            Ok(self.to_prepared(command))
        })
    }
}

impl CatalogLauncher {
    fn to_prepared(&self, command: LaunchCommand) -> Prepared {
        let LaunchCommand { program, args, env, cwd, lease, .. } = command;
        let inherited = std::env::vars_os().filter(|(name, _)| !is_hidden(name) && !env.contains_key(name));
        let environment: Vec<(OsString, OsString)> = inherited.chain(env.clone()).collect();
        let spec = LaunchSpec { program: program.into(), arguments: args, environment, directory: cwd };
        let lease = VersionGuard { lease: Some(lease), catalog: self.catalog.clone() };
        Prepared { spec, lease: Box::new(lease) }
    }
}

/// Keeps a version on disk as long as its process lives, and removes unused versions afterwards.
struct VersionGuard {
    lease: Option<VersionLease>,
    catalog: Catalog,
}

impl Drop for VersionGuard {
    fn drop(&mut self) {
        let held = self.lease.take().is_some_and(|lease| lease.is_held());
        // Without a runtime the process is exiting; the next install removes unused versions too.
        if held && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let catalog = self.catalog.clone();
            runtime.spawn(async move { catalog.remove_unused_versions().await });
        }
    }
}

/// The one place where an error of the catalog becomes the reason why an agent did not start.
pub(crate) fn to_start_failure(error: &CatalogError) -> StartFailure {
    let detail = error.to_string();
    let failure = |step| StartFailure::new(step, detail.clone());
    match error {
        CatalogError::UnknownAgent { agent } => {
            failure(StartStep::UnknownAgent).with("agent", agent.as_str())
        }
        CatalogError::InvalidAgentId { .. } => failure(StartStep::UnknownAgent),
        CatalogError::AgentNotInstalled { agent, .. } => {
            let detail =
                format!("{detail} (--require-preinstall is set, so agents are not installed on first use)");
            StartFailure::new(StartStep::NotInstalled, detail).with("agent", agent.as_str())
        }
        CatalogError::RuntimeMissing { runtime, .. } => {
            failure(StartStep::RuntimeMissing).with("runtime", runtime.as_str())
        }
        CatalogError::InstallFailed { agent, step, output_tail, .. } => failure(StartStep::InstallFailed)
            .with("agent", agent.as_str())
            .with("step", step.as_str())
            .with("outputTail", output_tail.as_str()),
        CatalogError::ProbeFailed { output_tail, .. } => {
            failure(StartStep::InstallFailed).with("outputTail", output_tail.as_str())
        }
        CatalogError::Storage { no_space: true, .. } => failure(StartStep::NoSpace),
        CatalogError::VersionUnavailable { agent, .. } => {
            failure(StartStep::VersionUnavailable).with("agent", agent.as_str())
        }
        CatalogError::NoSource { .. }
        | CatalogError::UnsupportedPlatform { .. }
        | CatalogError::Storage { .. }
        | CatalogError::BundleInvalid { .. }
        | CatalogError::Configuration { .. } => failure(StartStep::InstallFailed),
    }
}

//! The data that every installer needs: target directories, network access and progress reporting.

use std::path::PathBuf;
use std::time::Duration;

use crate::agent_id::AgentId;
use crate::error::{CatalogError, InstallStep};
use crate::host::HostEnvironment;
use crate::http::LazyClient;
use crate::install::scratch::Scratch;
use crate::layout::DataDirectory;
use crate::progress::ProgressReporter;
use crate::record::{RecordedArtifact, RecordedLaunch, Source};
use crate::tool::{Tool, ToolFailure, ToolOutput};

/// The time limit for a package manager: the largest agents take two minutes on a fast network.
pub(crate) const INSTALL_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The time limit for a query to a package manager.
pub(crate) const QUERY_TIMEOUT: Duration = Duration::from_secs(120);

/// One running install.
#[derive(Debug)]
pub(crate) struct InstallContext {
    pub(crate) agent: AgentId,
    pub(crate) data: DataDirectory,
    pub(crate) host: HostEnvironment,
    pub(crate) http: LazyClient,
    pub(crate) npm_registry: Option<String>,
    pub(crate) source: Source,
    pub(crate) progress: ProgressReporter,
    pub(crate) scratch: Scratch,
    /// Directory names of interrupted installs, which must not be reused yet.
    pub(crate) avoided: Vec<String>,
}

/// What an installer has written into a version's directory.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) version: String,
    /// The name of the version's directory in the agent's directory.
    pub(crate) directory: String,
    pub(crate) artifacts: Vec<RecordedArtifact>,
    pub(crate) launch: RecordedLaunch,
}

impl InstallContext {
    /// Creates an empty directory for a version, under a name that was never used before.
    pub(crate) fn make_version_directory(&self, version: &str) -> Result<(String, PathBuf), CatalogError> {
        let name = self.data.unused_directory(&self.agent, version, &self.avoided);
        let path = self.data.version(&self.agent, &name);
        std::fs::create_dir_all(&path).map_err(|error| CatalogError::storage("create", &path, &error))?;
        Ok((name, path))
    }

    /// The error for a failed step, with the last lines of the tool's output.
    pub(crate) fn failed(&self, step: InstallStep, detail: String, output_tail: String) -> CatalogError {
        CatalogError::InstallFailed { agent: self.agent.to_string(), step, detail, output_tail }
    }

    /// Runs a tool as part of a step.
    pub(crate) async fn run(&self, step: InstallStep, tool: Tool) -> Result<ToolOutput, CatalogError> {
        tool.run().await.map_err(|ToolFailure { detail, tail }| self.failed(step, detail, tail))
    }
}

//! What every installer is given: where to put things, how to reach out, whom to tell.

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

/// The longest a package manager may take: the largest agents need two minutes here, slow lines more.
pub(crate) const INSTALL_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The longest a question to a package manager may take.
pub(crate) const QUERY_TIMEOUT: Duration = Duration::from_secs(120);

/// One install under way.
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
    /// Directory names of cut-off installs, not to be used again right away.
    pub(crate) avoided: Vec<String>,
}

/// What an installer has put into a version's directory.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) version: String,
    /// The directory's name below the agent's.
    pub(crate) directory: String,
    pub(crate) artifacts: Vec<RecordedArtifact>,
    pub(crate) launch: RecordedLaunch,
}

impl InstallContext {
    /// The directory for a version, made and empty. Its name was never used before.
    pub(crate) fn make_version_directory(&self, version: &str) -> Result<(String, PathBuf), CatalogError> {
        let name = self.data.unused_directory(&self.agent, version, &self.avoided);
        let path = self.data.version(&self.agent, &name);
        std::fs::create_dir_all(&path).map_err(|error| CatalogError::storage("create", &path, &error))?;
        Ok((name, path))
    }

    /// A failure of a step, with a tool's last lines.
    pub(crate) fn failed(&self, step: InstallStep, detail: String, output_tail: String) -> CatalogError {
        CatalogError::InstallFailed { agent: self.agent.to_string(), step, detail, output_tail }
    }

    /// Runs a tool as part of a step.
    pub(crate) async fn run(&self, step: InstallStep, tool: Tool) -> Result<ToolOutput, CatalogError> {
        tool.run().await.map_err(|ToolFailure { detail, tail }| self.failed(step, detail, tail))
    }
}

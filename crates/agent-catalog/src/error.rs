//! The catalog's error type.
//!
//! Variants carry what a caller needs to build a problem document: the code, the failed step, the last lines of a
//! tool's output. The translation to HTTP happens elsewhere. The enum is `Clone` because every caller that waits
//! for an install receives its failure.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A step of an install, as named in progress reports and failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstallStep {
    /// Waiting for another process that is installing the same agent.
    WaitForLock,
    /// Looking up what to install in the registry and the manifest.
    ResolveSource,
    /// Finding or installing Node.js, uv or Python.
    PrepareRuntime,
    /// Fetching an archive.
    Download,
    /// Unpacking an archive.
    Unpack,
    /// Running npm or uv.
    InstallPackage,
    /// Starting the agent once to see that it works.
    Verify,
    /// Switching the `current` link.
    Activate,
}

impl InstallStep {
    /// The step's name as it appears in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WaitForLock => "wait_for_lock",
            Self::ResolveSource => "resolve_source",
            Self::PrepareRuntime => "prepare_runtime",
            Self::Download => "download",
            Self::Unpack => "unpack",
            Self::InstallPackage => "install_package",
            Self::Verify => "verify",
            Self::Activate => "activate",
        }
    }
}

impl fmt::Display for InstallStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

fn offered_for(available: &str) -> String {
    if available.is_empty() {
        "the registry lists no platform for it".to_owned()
    } else {
        format!("only for {available}")
    }
}

/// A failure of the catalog.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    /// No custom agent, manifest entry or registry entry has this id.
    #[error("there is no agent named \"{agent}\"")]
    UnknownAgent {
        /// The requested id.
        agent: String,
    },
    /// The text cannot be an agent id at all.
    #[error("{text:?} is not an agent id: 1 to 64 of A-Z a-z 0-9 . _ -, starting with a letter or digit")]
    InvalidAgentId {
        /// The rejected text, shortened.
        text: String,
    },
    /// The agent is not installed and must not be installed now: either installing on first use is disabled, or
    /// the call never installs.
    #[error("agent \"{agent}\" is not installed; run: {command}")]
    AgentNotInstalled {
        /// The agent's id.
        agent: String,
        /// The command that installs it.
        command: String,
    },
    /// Neither the registry nor the manifest offers anything to install.
    #[error("agent \"{agent}\" cannot be installed: {reason}")]
    NoSource {
        /// The agent's id.
        agent: String,
        /// Why no source offers it.
        reason: String,
    },
    /// The agent is not available for this platform.
    #[error("agent \"{agent}\" is not available for {platform}; {}", offered_for(.available))]
    UnsupportedPlatform {
        /// The agent's id.
        agent: String,
        /// The platform of this machine.
        platform: String,
        /// The platforms it is available for, comma separated; possibly empty.
        available: String,
    },
    /// The requested version is malformed or not available.
    #[error("agent \"{agent}\" has no version {requested:?}: {reason}")]
    VersionUnavailable {
        /// The agent's id.
        agent: String,
        /// The requested version.
        requested: String,
        /// Why it is not available.
        reason: String,
    },
    /// Node.js, npm, uv or Python is required, missing, and cannot be downloaded.
    #[error("{runtime} is missing: {detail}")]
    RuntimeMissing {
        /// What is missing, such as `Node.js >=22`.
        runtime: String,
        /// What was tried, and how to fix it.
        detail: String,
    },
    /// An install step failed; a previously installed version still works.
    #[error("installing \"{agent}\" failed at step {step}: {detail}")]
    InstallFailed {
        /// The agent's id.
        agent: String,
        /// The step that failed.
        step: InstallStep,
        /// The reason in one sentence.
        detail: String,
        /// The last lines of the tool's output, possibly empty.
        output_tail: String,
    },
    /// The installed agent did not answer the probe.
    #[error("probing \"{agent}\" failed: {detail}")]
    ProbeFailed {
        /// The agent's id.
        agent: String,
        /// The reason in one sentence.
        detail: String,
        /// The last lines of the agent's stderr, possibly empty.
        output_tail: String,
    },
    /// A file of the catalog could not be read or written.
    #[error("cannot {action} {}: {detail}", path.display())]
    Storage {
        /// The failed operation, such as `read`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's message.
        detail: String,
        /// Whether the disk was full.
        no_space: bool,
    },
    /// A bundle or lock file is damaged, unsafe or of another format.
    #[error("bundle {}: {detail}", path.display())]
    BundleInvalid {
        /// The bundle.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// An option of the catalog cannot be used.
    #[error("{detail}")]
    Configuration {
        /// What is wrong, and what is accepted.
        detail: String,
    },
}

impl CatalogError {
    /// A stable code for the kind of failure, used in problem documents.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownAgent { .. } => "unknown_agent",
            Self::InvalidAgentId { .. } => "invalid_agent_id",
            Self::AgentNotInstalled { .. } => "agent_not_installed",
            Self::NoSource { .. } => "no_source",
            Self::UnsupportedPlatform { .. } => "unsupported_platform",
            Self::VersionUnavailable { .. } => "version_unavailable",
            Self::RuntimeMissing { .. } => "runtime_missing",
            Self::InstallFailed { .. } => "install_failed",
            Self::ProbeFailed { .. } => "probe_failed",
            Self::Storage { no_space: true, .. } => "no_space",
            Self::Storage { .. } => "storage",
            Self::BundleInvalid { .. } => "bundle_invalid",
            Self::Configuration { .. } => "configuration",
        }
    }

    /// The last lines of the failed tool's output, if any.
    #[must_use]
    pub fn output_tail(&self) -> Option<&str> {
        match self {
            Self::InstallFailed { output_tail, .. } | Self::ProbeFailed { output_tail, .. }
                if !output_tail.is_empty() =>
            {
                Some(output_tail)
            }
            _ => None,
        }
    }

    pub(crate) fn storage(action: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Storage {
            action,
            path: path.to_owned(),
            detail: error.to_string(),
            no_space: matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded),
        }
    }
}

/// Adds the attempted operation and the path to an I/O error.
pub(crate) trait StorageResult<T> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, CatalogError>;
}

impl<T> StorageResult<T> for io::Result<T> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, CatalogError> {
        self.map_err(|error| CatalogError::storage(action, path, &error))
    }
}

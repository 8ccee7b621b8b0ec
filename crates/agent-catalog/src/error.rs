//! Everything that can go wrong in the catalog, in one enum.
//!
//! Variants carry what a caller needs to build a problem document (`code`, the failed step, the tool's last
//! lines); turning them into HTTP happens elsewhere. The enum is `Clone` because one install's failure is
//! handed to every caller that waited for it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What an install is doing; named in progress reports and in failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstallStep {
    /// Another process installs the same agent; waiting for it.
    WaitForLock,
    /// Asking the registry and the manifest what to install.
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

/// A failure of the catalog.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    /// No custom agent, manifest entry or registry entry has this id.
    #[error("there is no agent named \"{agent}\"")]
    UnknownAgent {
        /// The id that was asked for.
        agent: String,
    },
    /// The text cannot be an agent id at all.
    #[error("{text:?} is not an agent id: 1 to 64 of A-Z a-z 0-9 . _ -, starting with a letter or digit")]
    InvalidAgentId {
        /// What was given, shortened.
        text: String,
    },
    /// The agent is not installed, and nothing here may install it: installing on first use is switched off, or
    /// only what is there was asked for.
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
        /// Why each source came up empty.
        reason: String,
    },
    /// The agent exists, but not for this machine.
    #[error("agent \"{agent}\" does not run on {platform}; it is offered for {available}")]
    UnsupportedPlatform {
        /// The agent's id.
        agent: String,
        /// This machine.
        platform: String,
        /// The platforms it is offered for, comma separated.
        available: String,
    },
    /// The asked version is malformed or not to be had.
    #[error("agent \"{agent}\" has no version {requested:?}: {reason}")]
    VersionUnavailable {
        /// The agent's id.
        agent: String,
        /// The version asked for.
        requested: String,
        /// What would work.
        reason: String,
    },
    /// Node.js, npm, uv or Python is needed, is not there, and cannot be fetched.
    #[error("{runtime} is missing: {detail}")]
    RuntimeMissing {
        /// What is missing, such as `Node.js >=22`.
        runtime: String,
        /// What was tried and what to do about it.
        detail: String,
    },
    /// An install step failed; whatever was installed before still works.
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
        /// The last lines of its stderr, possibly empty.
        output_tail: String,
    },
    /// A file of the catalog could not be read or written.
    #[error("cannot {action} {}: {detail}", path.display())]
    Storage {
        /// The verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        detail: String,
        /// Whether the reason was a full disk.
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
        /// What is wrong and what would be right.
        detail: String,
    },
}

impl CatalogError {
    /// A stable name for the kind of failure, for problem documents.
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

    /// The failed tool's last lines, when there are any.
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

/// Turns an I/O result into a catalog result that names the file.
pub(crate) trait StorageResult<T> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, CatalogError>;
}

impl<T> StorageResult<T> for io::Result<T> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, CatalogError> {
        self.map_err(|error| CatalogError::storage(action, path, &error))
    }
}

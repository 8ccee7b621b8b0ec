//! What an install leaves behind: the record inside a version's directory.
//!
//! The record is written last, so its presence means that the version is complete. Paths below the data
//! directory are kept relative to it: a data directory that moves, or is unbundled elsewhere, still launches.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agent_id::AgentId;
use crate::host::HostEnvironment;
use crate::launch::{LaunchCommand, VersionLease};

/// Where an installed thing came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The ACP registry, fresh or cached.
    Registry,
    /// The manifest's pinned versions.
    Fallback,
    /// The user's configuration.
    Custom,
    /// The product itself.
    Builtin,
}

/// What an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// The program that speaks ACP.
    AgentProcess,
    /// The coding agent behind it.
    NativeAgent,
    /// A private Node.js, uv or Python.
    Runtime,
}

/// What starting the agent once has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// It answered.
    Ok,
    /// It did not.
    Failed,
    /// It wants credentials before it answers.
    NeedsCredentials,
}

/// A word of a recorded command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// Passed on as it is.
    Text(String),
    /// A path relative to the data directory.
    Data(PathBuf),
    /// An absolute path of this machine, such as its own Node.js.
    Host(PathBuf),
}

impl Word {
    /// The word for a path, relative when it lies below the data directory.
    pub(crate) fn path(data_root: &Path, path: &Path) -> Self {
        match path.strip_prefix(data_root) {
            Ok(relative) => Self::Data(relative.to_owned()),
            Err(_) => Self::Host(path.to_owned()),
        }
    }

    pub(crate) fn resolve(&self, data_root: &Path) -> OsString {
        match self {
            Self::Text(text) => text.into(),
            Self::Data(relative) => data_root.join(relative).into_os_string(),
            Self::Host(path) => path.clone().into_os_string(),
        }
    }
}

/// A command that survives a move of the data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedLaunch {
    pub(crate) program: Word,
    pub(crate) args: Vec<Word>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Directories put before `PATH`.
    #[serde(default)]
    pub(crate) search_path: Vec<Word>,
    /// Directories put before `LD_LIBRARY_PATH`: only for a Python that travelled in a bundle.
    #[serde(default)]
    pub(crate) library_path: Vec<Word>,
}

impl RecordedLaunch {
    pub(crate) fn resolve(&self, data_root: &Path, host: &HostEnvironment) -> LaunchCommand {
        // Defaults only: a variable that the user has set is the user's.
        let defaults = self.env.iter().filter(|(name, _)| host.get(name).is_none());
        let mut env: BTreeMap<OsString, OsString> =
            defaults.map(|(name, value)| (name.into(), value.into())).collect();
        let resolve_all = |words: &[Word]| {
            words.iter().map(|word| word.resolve(data_root).into()).collect::<Vec<PathBuf>>()
        };
        if !self.search_path.is_empty() {
            env.insert("PATH".into(), host.path_with(&resolve_all(&self.search_path)));
        }
        if let Ok(path) = std::env::join_paths(resolve_all(&self.library_path))
            && !self.library_path.is_empty()
        {
            env.insert("LD_LIBRARY_PATH".into(), path);
        }
        LaunchCommand {
            program: self.program.resolve(data_root).into(),
            args: self.args.iter().map(|word| word.resolve(data_root)).collect(),
            env,
            cwd: None,
            version: None,
            lease: VersionLease::default(),
        }
    }
}

/// One installed thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedArtifact {
    pub(crate) kind: ArtifactKind,
    pub(crate) path: Word,
    pub(crate) version: Option<String>,
    pub(crate) source: Source,
    /// What was asked for, such as `npm:pi-acp@0.0.34` or an archive's address.
    pub(crate) origin: String,
    /// The archive's checksum, where one was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
}

/// The record of one installed version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InstallRecord {
    pub(crate) agent: AgentId,
    /// The version directory's name below the agent's.
    pub(crate) directory: String,
    pub(crate) version: String,
    pub(crate) source: Source,
    pub(crate) artifacts: Vec<RecordedArtifact>,
    pub(crate) launch: RecordedLaunch,
    pub(crate) verified: Verification,
    /// Why it is not `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verification_detail: Option<String>,
    pub(crate) installed_at_ms: u64,
}

impl InstallRecord {
    /// The installed native agent's version.
    pub(crate) fn native_version(&self) -> Option<&str> {
        let native = self.artifacts.iter().find(|artifact| artifact.kind == ArtifactKind::NativeAgent)?;
        native.version.as_deref()
    }

    /// Whether everything the launch needs is still there; a host's Node.js may have been removed since.
    pub(crate) fn is_launchable(&self, data_root: &Path) -> bool {
        Path::new(&self.launch.program.resolve(data_root)).exists()
    }
}

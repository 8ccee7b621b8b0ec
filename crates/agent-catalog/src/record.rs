//! The record that an install writes into a version's directory.
//!
//! The record is written last, so its presence means that the version is complete. Paths below the data directory
//! are stored relative to it, so that agents still launch after the data directory was moved or restored from a
//! bundle.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agent_id::AgentId;
use crate::host::HostEnvironment;
use crate::launch::{LaunchCommand, VersionLease};

/// Where an artifact came from.
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

/// The kinds of artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// The program that speaks ACP.
    AgentProcess,
    /// The coding agent that the ACP process drives.
    NativeAgent,
    /// A private Node.js, uv or Python.
    Runtime,
}

/// The result of starting the agent once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// The agent answered.
    Ok,
    /// The agent did not answer.
    Failed,
    /// The agent requires credentials before it answers.
    NeedsCredentials,
}

/// A word of a recorded command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// Literal text.
    Text(String),
    /// A path relative to the data directory.
    Data(PathBuf),
    /// An absolute path on this machine, such as its own Node.js.
    Host(PathBuf),
}

impl Word {
    /// The word for a path, stored as relative if it is below the data directory.
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
    /// Directories prepended to `PATH`.
    #[serde(default)]
    pub(crate) search_path: Vec<Word>,
    /// Directories prepended to `LD_LIBRARY_PATH`, only for a Python restored from a bundle.
    #[serde(default)]
    pub(crate) library_path: Vec<Word>,
}

impl RecordedLaunch {
    pub(crate) fn resolve(&self, data_root: &Path, host: &HostEnvironment) -> LaunchCommand {
        // These are defaults: a variable that the user has set takes precedence.
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

/// One installed artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedArtifact {
    pub(crate) kind: ArtifactKind,
    pub(crate) path: Word,
    pub(crate) version: Option<String>,
    pub(crate) source: Source,
    /// The requested package or address, such as `npm:pi-acp@0.0.34` or an archive's address.
    pub(crate) origin: String,
    /// The archive's checksum, if one was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
}

/// The record of one installed version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InstallRecord {
    pub(crate) agent: AgentId,
    /// The name of the version's directory in the agent's directory.
    pub(crate) directory: String,
    pub(crate) version: String,
    pub(crate) source: Source,
    pub(crate) artifacts: Vec<RecordedArtifact>,
    pub(crate) launch: RecordedLaunch,
    pub(crate) verified: Verification,
    /// Why `verified` is not `ok`.
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

    /// Whether everything the launch needs still exists; the machine's Node.js may have been removed.
    pub(crate) fn is_launchable(&self, data_root: &Path) -> bool {
        Path::new(&self.launch.program.resolve(data_root)).exists()
    }
}

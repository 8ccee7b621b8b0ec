//! How to start an agent: a command, and the lease that keeps its version on disk while it runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A configured command: a custom agent or the built-in mock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// A program on `PATH`, or a path to one.
    pub command: PathBuf,
    /// The arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables added to the inherited environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The working directory, if one is configured.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
}

/// A command that is ready to run: every path in it exists.
#[derive(Debug, Clone)]
pub struct LaunchCommand {
    /// The program, as a resolved path where the catalog knows one.
    pub program: PathBuf,
    /// The arguments of the program.
    pub args: Vec<OsString>,
    /// Variables to set on top of the inherited environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The working directory; `None` leaves the choice to the caller.
    pub cwd: Option<PathBuf>,
    /// The agent's version, if the catalog installed it.
    pub version: Option<String>,
    /// Keep this (or a clone of the command) for as long as the process lives: it prevents the version's directory
    /// from being deleted when newer versions are installed.
    pub lease: VersionLease,
}

/// Keeps an installed version on disk. Empty for commands that the catalog did not install.
#[derive(Debug, Clone, Default)]
pub struct VersionLease {
    /// A shared lock, released when the last clone is dropped.
    file: Option<Arc<File>>,
}

impl VersionLease {
    /// A lease that lasts as long as the locked file stays open.
    pub(crate) fn holding(file: File) -> Self {
        Self { file: Some(Arc::new(file)) }
    }

    /// Whether the lease protects a version directory.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.file.is_some()
    }
}

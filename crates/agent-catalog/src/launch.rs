//! How to start an agent: a command, and the lease that keeps its version on disk meanwhile.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A command that somebody configured: a custom agent or the built-in mock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// A program on `PATH`, or a path to one.
    pub command: PathBuf,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables added to the inherited environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The directory to start in, when it matters.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
}

/// A command that is ready to run: everything it names exists.
#[derive(Debug, Clone)]
pub struct LaunchCommand {
    /// The program, as a resolved path where the catalog knows it.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables to set on top of the inherited environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The directory to start in; `None` leaves the choice to the caller.
    pub cwd: Option<PathBuf>,
    /// The version that runs, when the catalog installed it.
    pub version: Option<String>,
    /// Keep this (or a clone of the command) for as long as the process lives: it holds the version's
    /// directory in place while newer versions are installed.
    pub lease: VersionLease,
}

/// A promise that an installed version stays on disk. Free for commands that nobody installed.
#[derive(Debug, Clone, Default)]
pub struct VersionLease {
    /// Shared lock, released when the last clone goes.
    file: Option<Arc<File>>,
}

impl VersionLease {
    /// A lease that lasts as long as the locked file stays open.
    pub(crate) fn holding(file: File) -> Self {
        Self { file: Some(Arc::new(file)) }
    }

    /// Whether a directory is held in place at all.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.file.is_some()
    }
}

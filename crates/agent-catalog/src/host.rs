//! The environment of the machine: its variables, its home, the programs on its path.
//!
//! It is captured once and passed on as a value, so that an install does not depend on later changes of the
//! process environment, and a test can describe a machine without Node.js. Every process that the catalog starts
//! gets its variables from here, without the product's own secrets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Variables that are never passed to a child process: the product's secrets, and the service manager's
/// notification variables, which are meant for the server alone.
const OWN_VARIABLES: [&str; 5] =
    ["SANDBOX_AGENT_TOKEN", "SANDBOX_AGENT_TOKEN_FILE", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// A snapshot of environment variables.
#[derive(Debug, Clone, Default)]
pub struct HostEnvironment {
    variables: BTreeMap<OsString, OsString>,
}

impl HostEnvironment {
    /// The variables of this process, without the product's own.
    #[must_use]
    pub fn from_process() -> Self {
        let mut variables: BTreeMap<_, _> = std::env::vars_os().collect();
        for own in OWN_VARIABLES {
            variables.remove(OsStr::new(own));
        }
        Self { variables }
    }

    /// The same environment with one variable set.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The same environment without one variable.
    #[must_use]
    pub fn without(mut self, name: impl AsRef<OsStr>) -> Self {
        self.variables.remove(name.as_ref());
        self
    }

    /// The value of a variable, if the variable is set and not empty.
    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The value of a variable as text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// The user's home directory.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// All variables.
    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// The directories of `PATH`.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        self.get("PATH").map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
    }

    /// The program with this name on `PATH`, or `name` itself if it contains a slash and is executable.
    #[must_use]
    pub fn find_program(&self, name: impl AsRef<Path>) -> Option<PathBuf> {
        let name = name.as_ref();
        if name.components().count() > 1 {
            return is_executable(name).then(|| name.to_owned());
        }
        self.search_path().into_iter().map(|directory| directory.join(name)).find(|path| is_executable(path))
    }

    /// `PATH` with these directories prepended.
    pub(crate) fn path_with(&self, first: &[PathBuf]) -> OsString {
        let all = first.iter().cloned().chain(self.search_path());
        // Fails only for a directory with a colon in its name, which PATH cannot express at all.
        std::env::join_paths(all).unwrap_or_else(|_| self.get("PATH").unwrap_or_default().to_owned())
    }
}

/// Whether the path is a regular file with any execute permission.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

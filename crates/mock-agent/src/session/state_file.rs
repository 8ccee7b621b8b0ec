//! The state file: stores sessions across restarts, for `session/load` and `session/resume`.
//!
//! The file is not locked: two processes that use the same file overwrite each other's changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Session, SessionNumber};
use crate::MockAgentError;

/// All sessions and the next free number.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sessions {
    next: u64,
    pub(crate) by_number: BTreeMap<SessionNumber, Session>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { next: 1, by_number: BTreeMap::new() }
    }
}

impl Sessions {
    /// Adds a session under the next number. Numbers are never reused.
    pub(crate) fn add(&mut self, session: Session) -> SessionNumber {
        let number = SessionNumber(self.next);
        self.next += 1;
        self.by_number.insert(number, session);
        number
    }
}

/// The path of the state file, if one is configured.
#[derive(Debug)]
pub(crate) struct StateFile(Option<PathBuf>);

impl StateFile {
    /// The file named by `MOCK_AGENT_STATE`; if that is unset or empty, sessions are kept in memory only.
    pub(crate) fn from_environment() -> Self {
        Self(std::env::var_os("MOCK_AGENT_STATE").filter(|name| !name.is_empty()).map(PathBuf::from))
    }

    /// Loads the file; a missing file has no sessions.
    pub(crate) fn load(&self) -> Result<Sessions, MockAgentError> {
        let Some(path) = &self.0 else { return Ok(Sessions::default()) };
        let unusable = |reason: String| MockAgentError::State { path: path.clone(), reason };
        match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Sessions::default()),
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    /// Replaces the file atomically.
    pub(crate) fn save(&self, sessions: &Sessions) -> std::io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        let mut temporary = path.clone().into_os_string();
        temporary.push(".new");
        std::fs::write(&temporary, serde_json::to_vec(sessions)?)?;
        std::fs::rename(&temporary, path)
    }
}

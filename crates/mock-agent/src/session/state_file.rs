//! The state file: sessions that survive the process, for `session/load` and `session/resume`.
//!
//! One process, one file. Two processes on the same file overwrite each other; the mock agent
//! does not lock it.

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
    /// Adds a session under the next number. Numbers are not used twice.
    pub(crate) fn add(&mut self, session: Session) -> SessionNumber {
        let number = SessionNumber(self.next);
        self.next += 1;
        self.by_number.insert(number, session);
        number
    }
}

/// Where sessions are kept, if anywhere.
#[derive(Debug)]
pub(crate) struct StateFile(Option<PathBuf>);

impl StateFile {
    /// The file named by `MOCK_AGENT_STATE`; unset or empty keeps sessions in memory only.
    pub(crate) fn from_environment() -> Self {
        Self(std::env::var_os("MOCK_AGENT_STATE").filter(|name| !name.is_empty()).map(PathBuf::from))
    }

    /// What the file holds; a missing file holds nothing.
    pub(crate) fn load(&self) -> Result<Sessions, MockAgentError> {
        let Some(path) = &self.0 else { return Ok(Sessions::default()) };
        let unusable = |reason: String| MockAgentError::State { path: path.clone(), reason };
        match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Sessions::default()),
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    /// Replaces the file, whole or not at all.
    pub(crate) fn save(&self, sessions: &Sessions) -> std::io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        let mut temporary = path.clone().into_os_string();
        temporary.push(".new");
        std::fs::write(&temporary, serde_json::to_vec(sessions)?)?;
        std::fs::rename(&temporary, path)
    }
}

//! Sessions: their state, numbers and history.
//!
//! A session survives `session/close` (it can be loaded or resumed again) but not `session/delete`. `session/load`
//! replays the history.

mod lifecycle;
mod settings;
mod state_file;

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ContentBlock, McpServer, Meta, SessionId, SessionInfo, SessionUpdate,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub(crate) use lifecycle::*;
pub(crate) use settings::{Setting, Settings};
pub(crate) use state_file::{Sessions, StateFile};

/// The maximum size of the history, so that a flood of chunks does not fill the memory.
const HISTORY_BYTES: usize = 1 << 20;

/// The N of `mock-session-N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SessionNumber(pub(crate) u64);

impl SessionNumber {
    const PREFIX: &str = "mock-session-";

    /// The number in an id of this agent; `None` for any other text.
    pub(crate) fn parse(id: &SessionId) -> Option<Self> {
        let digits = id.0.strip_prefix(Self::PREFIX)?;
        let number = digits.parse().ok()?;
        (Self(number).id() == *id).then_some(Self(number))
    }

    /// The id that clients see.
    pub(crate) fn id(self) -> SessionId {
        SessionId::new(format!("{}{}", Self::PREFIX, self.0))
    }
}

/// The running turn of a session.
#[derive(Debug, Clone)]
pub(crate) struct RunningTurn {
    /// The turn's number in the session.
    pub(crate) number: u64,
    /// `true` tells the turn to stop.
    pub(crate) stop: watch::Sender<bool>,
}

/// One session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    pub(crate) cwd: PathBuf,
    #[serde(default)]
    pub(crate) additional_directories: Vec<PathBuf>,
    #[serde(default)]
    pub(crate) title: Option<String>,
    #[serde(default)]
    pub(crate) settings: Settings,
    /// The number of prompts so far; also used to number messages and tool calls.
    #[serde(default)]
    pub(crate) turns: u64,
    /// The simulated number of context tokens in use.
    #[serde(default)]
    pub(crate) used: u64,
    /// The number of changes so far: used as a clock, since a real one would differ from run to run.
    #[serde(default)]
    pub(crate) revision: u64,
    /// The `_meta` of the request that created or last opened the session.
    #[serde(default)]
    pub(crate) meta: Option<Meta>,
    #[serde(default)]
    pub(crate) mcp_servers: Vec<McpServer>,
    #[serde(default)]
    history: Vec<SessionUpdate>,
    #[serde(default)]
    history_bytes: usize,
    /// Whether the session is open on this connection.
    #[serde(skip)]
    pub(crate) active: bool,
    /// Set while a prompt is being answered.
    #[serde(skip)]
    pub(crate) turn: Option<RunningTurn>,
}

impl Session {
    /// A new, active session.
    pub(crate) fn new(cwd: PathBuf) -> Self {
        Self {
            cwd,
            additional_directories: Vec::new(),
            title: None,
            settings: Settings::default(),
            turns: 0,
            used: 0,
            revision: 0,
            meta: None,
            mcp_servers: Vec::new(),
            history: Vec::new(),
            history_bytes: 0,
            active: true,
            turn: None,
        }
    }

    /// A fork: the same history, without a running turn.
    pub(crate) fn forked(&self) -> Self {
        Self { active: true, turn: None, revision: 0, ..self.clone() }
    }

    /// Tells the running turn, if any, to stop.
    pub(crate) fn cancel(&self) {
        if let Some(turn) = &self.turn {
            turn.stop.send_replace(true);
        }
    }

    /// Records an update for `session/load`, if it is part of the conversation.
    pub(crate) fn record(&mut self, update: &SessionUpdate) {
        let weight = match update {
            SessionUpdate::UserMessageChunk(chunk)
            | SessionUpdate::AgentMessageChunk(chunk)
            | SessionUpdate::AgentThoughtChunk(chunk) => match &chunk.content {
                ContentBlock::Text(text) => text.text.len(),
                ContentBlock::Image(image) => image.data.len(),
                ContentBlock::Audio(audio) => audio.data.len(),
                _ => 1024,
            },
            SessionUpdate::ToolCall(_) | SessionUpdate::ToolCallUpdate(_) | SessionUpdate::Plan(_) => 1024,
            _ => return,
        };
        if self.history_bytes + weight <= HISTORY_BYTES {
            self.history_bytes += weight;
            self.history.push(update.clone());
        }
    }

    /// The conversation so far, oldest first.
    pub(crate) fn history(&self) -> &[SessionUpdate] {
        &self.history
    }

    /// The time of the last change, on a clock that starts in 2026 and advances by one second per change.
    pub(crate) fn updated_at(&self) -> String {
        let seconds = self.revision.min(86_399);
        format!("2026-01-01T{:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// The entry in `session/list`.
    pub(crate) fn info(&self, number: SessionNumber) -> SessionInfo {
        SessionInfo::new(number.id(), self.cwd.clone())
            .additional_directories(self.additional_directories.clone())
            .title(self.title.clone())
            .updated_at(self.updated_at())
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::ContentChunk;

    use super::*;

    fn message_chunk(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
    }

    #[test]
    fn only_ids_of_this_agent_parse() {
        assert_eq!(SessionNumber::parse(&SessionId::new("mock-session-12")), Some(SessionNumber(12)));
        for other in ["mock-session-", "mock-session-012", "mock-session--1", "mock-session-+1", "12", ""] {
            assert_eq!(SessionNumber::parse(&SessionId::new(other)), None, "{other}");
        }
    }

    #[test]
    fn history_stops_growing_at_its_bound() {
        let mut session = Session::new("/".into());
        let chunk = "x".repeat(HISTORY_BYTES / 2);
        for _ in 0..5 {
            session.record(&message_chunk(&chunk));
        }
        assert_eq!(session.history().len(), 2);
    }

    #[test]
    fn the_clock_advances_with_every_change() {
        let mut session = Session::new("/".into());
        session.revision = 3_661;
        assert_eq!(session.updated_at(), "2026-01-01T01:01:01Z");
    }
}

//! Sessions: what one is, its number, its history.
//!
//! A session outlives its `session/close` (it can be loaded or resumed again) but not its
//! `session/delete`. The history is what `session/load` replays.

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

/// History beyond this is not kept, so that a flood of chunks stays a flood and not a leak.
const HISTORY_BYTES: usize = 1 << 20;

/// The N of `mock-session-N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SessionNumber(pub(crate) u64);

impl SessionNumber {
    const PREFIX: &str = "mock-session-";

    /// The number in an id of ours; `None` for any other text.
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

/// The turn that is under way in a session.
#[derive(Debug, Clone)]
pub(crate) struct RunningTurn {
    /// Which of the session's turns it is.
    pub(crate) number: u64,
    /// `true` asks it to stop.
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
    /// Prompts so far; also numbers messages and tool calls.
    #[serde(default)]
    pub(crate) turns: u64,
    /// Pretended tokens of context in use.
    #[serde(default)]
    pub(crate) used: u64,
    /// Changes so far: our clock, since a real one would differ from run to run.
    #[serde(default)]
    pub(crate) revision: u64,
    /// `_meta` of the request that made or last opened it.
    #[serde(default)]
    pub(crate) meta: Option<Meta>,
    #[serde(default)]
    pub(crate) mcp_servers: Vec<McpServer>,
    #[serde(default)]
    history: Vec<SessionUpdate>,
    #[serde(default)]
    history_bytes: usize,
    /// Open on this connection.
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

    /// A copy to fork into: same history, nothing running.
    pub(crate) fn forked(&self) -> Self {
        Self { active: true, turn: None, revision: 0, ..self.clone() }
    }

    /// Asks the running turn, if any, to stop.
    pub(crate) fn cancel(&self) {
        if let Some(turn) = &self.turn {
            turn.stop.send_replace(true);
        }
    }

    /// Keeps an update for `session/load`, if it is part of the conversation.
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

    /// When it last changed, on a clock that starts with 2026 and ticks once a change.
    pub(crate) fn updated_at(&self) -> String {
        let seconds = self.revision.min(86_399);
        format!("2026-01-01T{:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// The line in `session/list`.
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

    fn said(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
    }

    #[test]
    fn only_ids_we_could_have_given_out_parse() {
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
            session.record(&said(&chunk));
        }
        assert_eq!(session.history().len(), 2);
    }

    #[test]
    fn the_clock_ticks_once_a_change() {
        let mut session = Session::new("/".into());
        session.revision = 3_661;
        assert_eq!(session.updated_at(), "2026-01-01T01:01:01Z");
    }
}

//! The state that a later server needs to continue an instance. It is saved at the start of each segment of the
//! journal, and brought up to date from the entries after it.
//!
//! Only data that the events do not contain are saved: the open requests, and the outcomes of idempotency keys.

use std::time::Instant;

use journal::Entry;
use serde::{Deserialize, Serialize};

use super::state::{AfterExit, Ended, Phase, State};
use crate::client_requests::ClientRequest;
use crate::envelope::MessageKind;
use crate::error::Error;
use crate::event::{Event, EventKind, FailedRequest};
use crate::exit::{ExitCause, ExitRecord};
use crate::idempotency::{IdempotencyKey, Remembered};
use crate::message::{Answer, Delivery};
use crate::request_id::RequestId;

/// The kinds of notes in an instance's journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// The message before it had this idempotency key.
    Key,
    /// A client request failed: [`FailedRequest`].
    Failed,
}

impl Note {
    pub(crate) const fn tag(self) -> u8 {
        match self {
            Self::Key => 1,
            Self::Failed => 2,
        }
    }

    const fn of(tag: u8) -> Option<Self> {
        match tag {
            1 => Some(Self::Key),
            2 => Some(Self::Failed),
            _ => None,
        }
    }
}

/// The saved state; see the module. Its format is part of the journal's format.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Checkpoint {
    /// How the process ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<SavedExit>,
    client_requests: Vec<SavedRequest>,
    agent_requests: Vec<SavedAgentRequest>,
    keys: Vec<SavedKey>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SavedExit {
    record: ExitRecord,
    sequence: u64,
}

/// An open client request. Ids are JSON text.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SavedRequest {
    id: String,
    key: Option<Vec<u8>>,
}

/// An open agent request.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SavedAgentRequest {
    id: String,
    event: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SavedKey {
    key: Vec<u8>,
    outcome: SavedOutcome,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SavedOutcome {
    Accepted,
    Open(String),
    Stored(u64),
    Failed(Error),
    Gone,
}

impl SavedOutcome {
    /// `None` for a message that was not accepted yet.
    fn of(remembered: &Remembered) -> Option<Self> {
        Some(match remembered {
            Remembered::Enqueueing => return None,
            Remembered::Accepted | Remembered::Settled(Ok(Answer::Accepted)) => Self::Accepted,
            Remembered::Open(id) => Self::Open(id.as_json().to_owned()),
            Remembered::Stored(sequence) => Self::Stored(*sequence),
            Remembered::Settled(Err(error)) => Self::Failed(error.clone()),
            Remembered::Gone | Remembered::Settled(Ok(Answer::Response(_))) => Self::Gone,
        })
    }

    fn restore(self) -> Option<Remembered> {
        Some(match self {
            Self::Accepted => Remembered::Accepted,
            Self::Open(id) => Remembered::Open(RequestId::parse(&id)?),
            Self::Stored(sequence) => Remembered::Stored(sequence),
            Self::Failed(error) => Remembered::Settled(Err(error)),
            Self::Gone => Remembered::Gone,
        })
    }
}

/// A state that is brought up to date from a journal.
#[derive(Debug)]
pub(crate) struct Replay {
    state: State,
    /// The request that was sent last, until the note with its key is read.
    last_sent: Option<RequestId>,
}

impl State {
    /// The checkpoint: the data that a later server needs in addition to the entries that follow.
    pub(crate) fn checkpoint(&self) -> Vec<u8> {
        let exit = match &self.phase {
            Phase::Exited(ended) | Phase::Gone(ended) => {
                Some(SavedExit { record: ended.record.clone(), sequence: ended.sequence })
            }
            Phase::Starting | Phase::Running | Phase::Closing => None,
        };
        let client_requests = self.client_requests.iter().map(|(id, request)| SavedRequest {
            id: id.as_json().to_owned(),
            key: request.key.as_ref().map(|key| key.to_bytes().to_vec()),
        });
        let agent_requests = self
            .agent_requests
            .iter()
            .map(|(id, event)| SavedAgentRequest { id: id.as_json().to_owned(), event });
        let keys = self.keys.iter().filter_map(|(key, remembered)| {
            Some(SavedKey { key: key.to_bytes().to_vec(), outcome: SavedOutcome::of(remembered)? })
        });
        let checkpoint = Checkpoint {
            exit,
            client_requests: client_requests.collect(),
            agent_requests: agent_requests.collect(),
            keys: keys.collect(),
        };
        // The struct consists of text, numbers and lists, so serialising cannot fail.
        serde_json::to_vec(&checkpoint).unwrap_or_default()
    }
}

impl Replay {
    pub(crate) const fn new(state: State) -> Self {
        Self { state, last_sent: None }
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// The bytes were not written by [`Self::checkpoint`].
    pub(crate) fn restore(&mut self, checkpoint: &[u8]) -> Result<(), serde_json::Error> {
        let Checkpoint { exit, client_requests, agent_requests, keys } = serde_json::from_slice(checkpoint)?;
        self.state.phase = match exit {
            Some(SavedExit { record, sequence }) => Phase::Exited(Ended { record, sequence }),
            None => Phase::Running,
        };
        let now = Instant::now();
        for SavedRequest { id, key } in client_requests {
            if let Some(id) = RequestId::parse(&id) {
                let key = key.and_then(|key| IdempotencyKey::from_bytes(&key));
                self.state.client_requests.insert(id, ClientRequest::new(Delivery::Log, key, None, now));
            }
        }
        for SavedAgentRequest { id, event } in agent_requests {
            if let Some(id) = RequestId::parse(&id) {
                self.state.agent_requests.open(id, event, now);
            }
        }
        for SavedKey { key, outcome } in keys {
            if let (Some(key), Some(remembered)) = (IdempotencyKey::from_bytes(&key), outcome.restore()) {
                self.state.keys.remember(&key, remembered);
            }
        }
        Ok(())
    }

    /// Brings the state up to date with an entry of the journal. Entries that the checkpoint already knows change
    /// nothing.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Records { run, .. } => {
                for record in run.records() {
                    self.replay_event(Event::new(record), record.sequence);
                }
            }
            Entry::Note { tag, bytes, .. } => match Note::of(*tag) {
                Some(Note::Key) => self.replay_key(bytes),
                Some(Note::Failed) => self.replay_failure(bytes),
                // A newer server wrote the note. Notes that are not known can be ignored.
                None => {}
            },
        }
    }

    fn replay_event(&mut self, event: Event<'_>, sequence: u64) {
        match event.kind() {
            EventKind::Sent(kind) => {
                // Messages to an agent that has ended start it again.
                self.state.phase = Phase::Running;
                let id = if kind == MessageKind::Request { event.id().map(|(id, _)| id) } else { None };
                let id = id.filter(|id| !id.is_null());
                if let Some(id) = &id {
                    let request = ClientRequest::new(Delivery::Log, None, None, Instant::now());
                    self.state.client_requests.insert(id.clone(), request);
                }
                self.last_sent = id;
            }
            EventKind::Message(MessageKind::Request) => {
                if let Some((id, _)) = event.id()
                    && !id.is_null()
                    && !self.state.agent_requests.has(sequence)
                {
                    self.state.agent_requests.open(id, sequence, Instant::now());
                }
            }
            EventKind::Message(MessageKind::Response) => {
                if let Some((id, _)) = event.id()
                    && let Some((_, request)) = self.state.client_requests.answer(&id)
                    && let Some(key) = &request.key
                {
                    self.state.keys.remember(key, Remembered::Stored(sequence));
                }
            }
            EventKind::Answered => {
                if let Ok(answered) = serde_json::from_slice::<AnsweredEvent>(event.bytes()) {
                    self.state.agent_requests.answer(answered.event);
                }
            }
            EventKind::Exit => {
                if let Some(record) = event.exit() {
                    self.state.agent_requests.clear();
                    self.state.client_requests.take_all();
                    self.state.phase = Phase::Exited(Ended { record, sequence });
                }
            }
            EventKind::Message(MessageKind::Notification)
            | EventKind::Unparsed
            | EventKind::Failed
            | EventKind::JournalSuspended
            | EventKind::JournalResumed => {}
        }
    }

    fn replay_key(&mut self, bytes: &[u8]) {
        let Some(key) = IdempotencyKey::from_bytes(bytes) else { return };
        match self.last_sent.take() {
            Some(id) => {
                self.state.keys.remember(&key, Remembered::Open(id.clone()));
                if let Some(request) = self.state.client_requests.get_mut(&id) {
                    request.key = Some(key);
                }
            }
            None => self.state.keys.remember(&key, Remembered::Accepted),
        }
    }

    fn replay_failure(&mut self, bytes: &[u8]) {
        let Ok(FailedRequest { id, error }) = serde_json::from_slice(bytes) else { return };
        if let Some(request) = self.state.client_requests.remove(&id)
            && let Some(key) = &request.key
        {
            self.state.keys.remember(key, Remembered::Settled(Err(error)));
        }
    }

    /// The last step after reading a journal: if the process was running, it ended together with its server.
    pub(crate) fn finish(mut self) -> State {
        if !matches!(self.state.phase, Phase::Exited(_)) {
            let record = ExitRecord { cause: ExitCause::ServerDied, stderr_tail: String::new() };
            // No caller waits for an outcome, since all callers were connected to the earlier server.
            self.state.end(record, AfterExit::StayListed).deliver();
        }
        self.state.settle_account();
        self.state
    }
}

/// The fields of an `answered` event that are needed here.
#[derive(Deserialize)]
struct AnsweredEvent {
    event: u64,
}

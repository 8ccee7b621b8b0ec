//! Records the requests and how each answer ended, so that a test of an agent can see both sides.
//!
//! It also counts attempts: a repeated request is a retry. The number of entries is bounded, and whole bodies are
//! never kept.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::conversation::{Conversation, Delivery, Newest};

const MAX_RECORDS: usize = 1000;
const MAX_FINGERPRINTS: usize = 10_000;
const MAX_PROMPT: usize = 500;

/// One request.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record {
    number: u64,
    api: &'static str,
    model: String,
    stream: bool,
    /// The newest prompt, shortened; absent after tool results.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// The number of user messages in the conversation: a restored session still has its older ones.
    messages: usize,
    script: &'static str,
    attempt: u32,
    tools: Vec<String>,
    outcome: Outcome,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    UnderWay,
    Finished,
    Failed,
    /// The client disconnected before the answer was complete.
    Abandoned,
    /// The script broke the connection on purpose.
    Cut,
}

#[derive(Debug, Default)]
struct Inner {
    records: VecDeque<Record>,
    attempts: HashMap<u64, u32>,
    last_number: u64,
}

/// The journal shared by all requests.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Inner>);

/// Identifies a request and counts its repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) fingerprint: u64,
    pub(crate) number: u32,
}

impl Attempt {
    /// An id that is the same whenever the conversation is the same, and differs between its turns.
    pub(crate) fn id(self) -> String {
        // 40 bits are enough within one conversation, and short ids are easier to read.
        let short = self.fingerprint >> 24;
        if self.number == 1 { format!("{short:010x}") } else { format!("{short:010x}n{}", self.number) }
    }
}

impl Journal {
    /// Counts an attempt.
    pub(crate) fn count(&self, api: &str, conversation: &Conversation) -> Attempt {
        let fingerprint = fingerprint(api, conversation);
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.attempts.len() >= MAX_FINGERPRINTS {
            inner.attempts.clear();
        }
        let attempt = inner.attempts.entry(fingerprint).or_insert(0);
        *attempt += 1;
        Attempt { fingerprint, number: *attempt }
    }

    /// Records a request. Its outcome is `abandoned` unless the ticket gets another one before it is dropped.
    pub(crate) fn open(
        self: &Arc<Self>,
        api: &'static str,
        conversation: &Conversation,
        script: &'static str,
        attempt: u32,
    ) -> Ticket {
        let prompt = match conversation.newest() {
            Newest::Prompt(text) => Some(text.chars().take(MAX_PROMPT).collect()),
            Newest::Results(_) => None,
        };
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last_number += 1;
        let number = inner.last_number;
        if inner.records.len() >= MAX_RECORDS {
            inner.records.pop_front();
        }
        inner.records.push_back(Record {
            number,
            api,
            model: conversation.model.clone(),
            stream: conversation.delivery == Delivery::Streamed,
            prompt,
            messages: conversation.user_messages(),
            script,
            attempt,
            tools: conversation.tools.iter().map(|tool| tool.name.clone()).collect(),
            outcome: Outcome::UnderWay,
        });
        Ticket { journal: Arc::clone(self), number, outcome: Outcome::Abandoned }
    }

    /// All remembered requests, oldest first.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).records.iter().cloned().collect()
    }
}

/// A running request. Dropping it records its outcome.
#[derive(Debug)]
pub(crate) struct Ticket {
    journal: Arc<Journal>,
    number: u64,
    outcome: Outcome,
}

impl Ticket {
    /// Sets the outcome that is recorded on drop.
    pub(crate) fn set_outcome(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut inner = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = inner.records.iter_mut().find(|record| record.number == self.number) {
            record.outcome = self.outcome;
        }
    }
}

/// Identifies a request by its position in the conversation and by the offered tools.
fn fingerprint(api: &str, conversation: &Conversation) -> u64 {
    let mut hasher = DefaultHasher::new();
    api.hash(&mut hasher);
    conversation.entries.len().hash(&mut hasher);
    conversation.tools.len().hash(&mut hasher);
    match conversation.newest() {
        Newest::Prompt(prompt) => prompt.hash(&mut hasher),
        // A result may contain a time of day, so only the presence of results counts.
        Newest::Results(results) => results.len().hash(&mut hasher),
    }
    conversation.user_messages().hash(&mut hasher);
    hasher.finish()
}

//! What the model was asked and how each answer ended, so that whoever tests an agent can see both sides.
//!
//! It also counts tries: the same request again is a retry. Bounded in entries; it never keeps whole bodies.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::conversation::{Conversation, Delivery, Newest};

const MOST_RECORDS: usize = 1000;
const MOST_FINGERPRINTS: usize = 10_000;
const LONGEST_PROMPT: usize = 500;

/// One request.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record {
    number: u64,
    api: &'static str,
    model: String,
    stream: bool,
    /// The newest prompt, in part; absent when tools have answered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// How many messages of the user the conversation holds: a session that was restored has its older ones.
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
    /// The client went away first.
    Abandoned,
    /// The script broke the connection.
    Cut,
}

#[derive(Debug, Default)]
struct Inner {
    records: VecDeque<Record>,
    attempts: HashMap<u64, u32>,
    last_number: u64,
}

/// What all requests share.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Inner>);

/// Which request this is, among those alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Try {
    pub(crate) fingerprint: u64,
    pub(crate) attempt: u32,
}

impl Try {
    /// An id that the same conversation gets every time, and no two turns of it share.
    pub(crate) fn id(self) -> String {
        // 40 bits are plenty within one conversation, and short ids are easier on the eye.
        let short = self.fingerprint >> 24;
        if self.attempt == 1 { format!("{short:010x}") } else { format!("{short:010x}n{}", self.attempt) }
    }
}

impl Journal {
    /// Counts a try.
    pub(crate) fn count(&self, api: &str, conversation: &Conversation) -> Try {
        let fingerprint = fingerprint(api, conversation);
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.attempts.len() >= MOST_FINGERPRINTS {
            inner.attempts.clear();
        }
        let attempt = inner.attempts.entry(fingerprint).or_insert(0);
        *attempt += 1;
        Try { fingerprint, attempt: *attempt }
    }

    /// Writes a request down. Its outcome is `abandoned` unless the ticket is told otherwise before it goes.
    pub(crate) fn open(
        self: &Arc<Self>,
        api: &'static str,
        conversation: &Conversation,
        script: &'static str,
        attempt: u32,
    ) -> Ticket {
        let prompt = match conversation.newest() {
            Newest::Prompt(text) => Some(text.chars().take(LONGEST_PROMPT).collect()),
            Newest::Results(_) => None,
        };
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last_number += 1;
        let number = inner.last_number;
        if inner.records.len() >= MOST_RECORDS {
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

    /// All requests still remembered, oldest first.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).records.iter().cloned().collect()
    }
}

/// One request under way. When it is dropped its outcome is written down.
#[derive(Debug)]
pub(crate) struct Ticket {
    journal: Arc<Journal>,
    number: u64,
    outcome: Outcome,
}

impl Ticket {
    /// How the request will have ended.
    pub(crate) fn ends_as(&mut self, outcome: Outcome) {
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

/// What makes two requests the same: where in which conversation they stand, and what they offer.
fn fingerprint(api: &str, conversation: &Conversation) -> u64 {
    let mut hasher = DefaultHasher::new();
    api.hash(&mut hasher);
    conversation.entries.len().hash(&mut hasher);
    conversation.tools.len().hash(&mut hasher);
    match conversation.newest() {
        Newest::Prompt(prompt) => prompt.hash(&mut hasher),
        // A result may hold a time of day; that the tools have answered is enough.
        Newest::Results(results) => results.len().hash(&mut hasher),
    }
    conversation.user_messages().hash(&mut hasher);
    hasher.finish()
}

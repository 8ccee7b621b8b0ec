//! Remembering what was accepted, so that a client may repeat any POST whose answer it lost.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use http_edge::{Code, Problem};

use crate::pending::Outcome;
use crate::request_id::RequestId;

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_LENGTH: usize = 255;

/// A client's name for one POST, with a fingerprint of what it said.
#[derive(Debug, Clone)]
pub(crate) struct IdempotencyKey {
    text: Arc<str>,
    fingerprint: u64,
}

/// A key whose message is not known yet.
#[derive(Debug, Clone)]
pub(crate) struct KeyText(Arc<str>);

impl KeyText {
    /// The key of a request, when it has one.
    ///
    /// # Errors
    /// 400 `invalid_header`.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let Some(value) = headers.get(HEADER) else { return Ok(None) };
        let text = value.to_str().ok().filter(|text| (1..=MAX_LENGTH).contains(&text.len()));
        let text = text.ok_or_else(|| {
            Problem::new(Code::InvalidHeader, "Idempotency-Key is 1 to 255 visible ASCII characters")
                .with("header", "Idempotency-Key")
        })?;
        Ok(Some(Self(text.into())))
    }

    /// The key as one of this message.
    pub(crate) fn of_message(self, line: &[u8]) -> IdempotencyKey {
        static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        IdempotencyKey { text: self.0, fingerprint: HASHER.hash_one(line) }
    }
}

/// What became of a message that was accepted under a key.
#[derive(Debug, Clone)]
pub(crate) enum Memory {
    /// It needed no answer: 202.
    Accepted,
    /// It waits for the agent under this id.
    Open(RequestId),
    /// It waits for room in the queue, or for the agent to start.
    Arriving,
    /// It ended so.
    Settled(Outcome),
    /// The agent answered, but the answer is no longer held.
    Gone,
}

#[derive(Debug)]
struct Record {
    fingerprint: u64,
    memory: Memory,
}

/// The last keys of one instance.
#[derive(Debug)]
pub(crate) struct RememberedKeys {
    records: HashMap<Arc<str>, Record>,
    order: VecDeque<Arc<str>>,
    max_keys: usize,
    /// How much of the agent's answers may be held for repeats.
    max_bytes: usize,
    held_bytes: usize,
}

impl RememberedKeys {
    pub(crate) fn new(max_keys: usize, max_bytes: usize) -> Self {
        Self { records: HashMap::new(), order: VecDeque::new(), max_keys, max_bytes, held_bytes: 0 }
    }

    /// What is known of a key.
    ///
    /// # Errors
    /// 422 `idempotency_key_reused` when it stood for another message: to answer with that one's outcome would
    /// lose this one silently.
    pub(crate) fn recall(&self, key: &IdempotencyKey) -> Result<Option<&Memory>, Problem> {
        match self.records.get(&key.text) {
            None => Ok(None),
            Some(record) if record.fingerprint == key.fingerprint => Ok(Some(&record.memory)),
            Some(_) => Err(Problem::new(
                Code::IdempotencyKeyReused,
                "this Idempotency-Key was used for another message; use a new key for every message",
            )),
        }
    }

    /// Notes what became of a key.
    pub(crate) fn remember(&mut self, key: &IdempotencyKey, memory: Memory) {
        let memory = self.own(memory);
        self.held_bytes += held(&memory);
        let record = Record { fingerprint: key.fingerprint, memory };
        match self.records.insert(Arc::clone(&key.text), record) {
            Some(old) => self.held_bytes -= held(&old.memory),
            None => self.order.push_back(Arc::clone(&key.text)),
        }
        self.trim();
    }

    /// A message that was not accepted after all may be sent again under its key.
    pub(crate) fn forget(&mut self, key: &IdempotencyKey) {
        if let Some(old) = self.records.remove(&key.text) {
            self.held_bytes -= held(&old.memory);
            self.order.retain(|other| *other != key.text);
        }
    }

    /// What the answers held here take.
    pub(crate) const fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// An answer is copied, so that it does not keep alive everything that came with it; one too large for this
    /// store is not held at all.
    fn own(&self, memory: Memory) -> Memory {
        match memory {
            Memory::Settled(Outcome::Answer(bytes)) if bytes.len() > self.max_bytes => Memory::Gone,
            Memory::Settled(Outcome::Answer(bytes)) => {
                Memory::Settled(Outcome::Answer(Bytes::copy_from_slice(&bytes)))
            }
            other => other,
        }
    }

    fn trim(&mut self) {
        while self.order.len() > self.max_keys {
            if let Some(oldest) = self.order.pop_front()
                && let Some(record) = self.records.remove(&oldest)
            {
                self.held_bytes -= held(&record.memory);
            }
        }
        let mut index = 0;
        while self.held_bytes > self.max_bytes && index < self.order.len() {
            if let Some(record) = self.records.get_mut(&self.order[index]) {
                let freed = held(&record.memory);
                if freed > 0 {
                    record.memory = Memory::Gone;
                    self.held_bytes -= freed;
                }
            }
            index += 1;
        }
    }
}

fn held(memory: &Memory) -> usize {
    match memory {
        Memory::Settled(Outcome::Answer(bytes)) => bytes.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str, body: &[u8]) -> IdempotencyKey {
        let headers = HeaderMap::from_iter([(HEADER, text.parse().unwrap())]);
        KeyText::of(&headers).unwrap().unwrap().of_message(body)
    }

    fn answer(bytes: &'static [u8]) -> Memory {
        Memory::Settled(Outcome::Answer(Bytes::from_static(bytes)))
    }

    #[test]
    fn a_key_stands_for_one_message_only() {
        let mut keys = RememberedKeys::new(10, 100);
        keys.remember(&key("a", b"one"), Memory::Accepted);
        assert!(matches!(keys.recall(&key("a", b"one")), Ok(Some(Memory::Accepted))));
        assert_eq!(keys.recall(&key("a", b"two")).unwrap_err().code(), Code::IdempotencyKeyReused);
        assert!(matches!(keys.recall(&key("b", b"one")), Ok(None)));
    }

    #[test]
    fn the_oldest_keys_and_answers_are_forgotten_first() {
        let mut keys = RememberedKeys::new(2, 5);
        keys.remember(&key("a", b""), answer(b"123"));
        keys.remember(&key("b", b""), answer(b"456"));
        assert!(matches!(keys.recall(&key("a", b"")), Ok(Some(Memory::Gone))));
        assert!(matches!(keys.recall(&key("b", b"")), Ok(Some(Memory::Settled(_)))));
        keys.remember(&key("c", b""), answer(b"too long for the store"));
        assert!(matches!(keys.recall(&key("c", b"")), Ok(Some(Memory::Gone))));
        assert!(matches!(keys.recall(&key("a", b"")), Ok(None)));
        assert_eq!(keys.held_bytes(), 3);
        keys.forget(&key("b", b""));
        assert_eq!(keys.held_bytes(), 0);
    }

    #[test]
    fn an_unusable_key_is_refused() {
        let headers = HeaderMap::from_iter([(HEADER, "x".repeat(256).parse().unwrap())]);
        assert_eq!(KeyText::of(&headers).unwrap_err().code(), Code::InvalidHeader);
        assert!(KeyText::of(&HeaderMap::new()).unwrap().is_none());
    }
}

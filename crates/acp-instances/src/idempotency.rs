//! Remembers accepted messages by their idempotency key, so that a client may repeat any message whose answer
//! it lost.

use std::collections::{HashMap, VecDeque};
use std::hash::Hasher;
use std::sync::Arc;

use bytes::Bytes;
use event_log::{MemoryAccount, charged};
use siphasher::sip::SipHasher13;

use crate::error::Error;
use crate::message::{Answer, Settled};
use crate::request_id::RequestId;

/// The key that a client chose for one message, with a fingerprint of the message.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    text: Arc<str>,
    fingerprint: u64,
}

impl IdempotencyKey {
    /// The longest key, in bytes.
    pub const MAX_LENGTH: usize = 255;

    /// A key for a message. `None` if the text is empty or longer than [`Self::MAX_LENGTH`].
    #[must_use]
    pub fn new(text: &str, message: &[u8]) -> Option<Self> {
        // The hash has no random key: a later server must compute the same fingerprint for the same message.
        let mut hasher = SipHasher13::new();
        hasher.write(message);
        (1..=Self::MAX_LENGTH)
            .contains(&text.len())
            .then(|| Self { text: text.into(), fingerprint: hasher.finish() })
    }

    /// The key in the format of the journal.
    pub(crate) fn to_bytes(&self) -> Bytes {
        [&self.fingerprint.to_le_bytes(), self.text.as_bytes()].concat().into()
    }

    /// Decodes what [`Self::to_bytes`] returned.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (fingerprint, text) = bytes.split_first_chunk()?;
        Some(Self { text: str::from_utf8(text).ok()?.into(), fingerprint: u64::from_le_bytes(*fingerprint) })
    }
}

/// The outcome so far of a message that was accepted under a key.
#[derive(Debug, Clone)]
pub(crate) enum Remembered {
    /// The message was accepted and needed no answer.
    Accepted,
    /// The message is a request, with this id, that waits for the agent's answer.
    Open(RequestId),
    /// The message waits for room in the queue, or for the agent to start.
    Enqueueing,
    /// The final outcome of the message is known.
    Settled(Settled),
    /// The agent answered with the event of this sequence number, which is in the journal.
    Stored(u64),
    /// The agent answered, but the answer is no longer held.
    Gone,
}

#[derive(Debug)]
struct Record {
    fingerprint: u64,
    remembered: Remembered,
}

/// The most recent keys of one instance.
#[derive(Debug)]
pub(crate) struct RememberedKeys {
    records: HashMap<Arc<str>, Record>,
    order: VecDeque<Arc<str>>,
    max_keys: usize,
    /// How many bytes of the agent's answers may be held for repeated messages.
    max_bytes: usize,
    /// How many bytes of answers are held.
    held_bytes: usize,
    /// How many bytes keys and entries take.
    key_bytes: usize,
    account: Arc<MemoryAccount>,
}

impl RememberedKeys {
    pub(crate) fn new(max_keys: usize, max_bytes: usize, account: Arc<MemoryAccount>) -> Self {
        Self {
            records: HashMap::new(),
            order: VecDeque::new(),
            max_keys,
            max_bytes,
            held_bytes: 0,
            key_bytes: 0,
            account,
        }
    }

    /// Looks up the outcome so far of the message with this key.
    ///
    /// # Errors
    /// [`Error::KeyReused`] if the key was used for another message. Answering with that message's outcome
    /// would silently lose this one.
    pub(crate) fn recall(&self, key: &IdempotencyKey) -> Result<Option<&Remembered>, Error> {
        match self.records.get(&key.text) {
            None => Ok(None),
            Some(record) if record.fingerprint == key.fingerprint => Ok(Some(&record.remembered)),
            Some(_) => Err(Error::KeyReused),
        }
    }

    /// Records the outcome so far of the message with this key.
    pub(crate) fn remember(&mut self, key: &IdempotencyKey, remembered: Remembered) {
        let remembered = self.own(remembered);
        self.held_bytes += held(&remembered);
        let record = Record { fingerprint: key.fingerprint, remembered };
        match self.records.insert(Arc::clone(&key.text), record) {
            Some(old) => self.held_bytes -= held(&old.remembered),
            None => {
                self.key_bytes += KEY_OVERHEAD + key.text.len();
                self.order.push_back(Arc::clone(&key.text));
            }
        }
        self.trim();
    }

    /// Forgets a key whose message was not accepted after all, so that it may be sent again.
    pub(crate) fn forget(&mut self, key: &IdempotencyKey) {
        if let Some(old) = self.records.remove(&key.text) {
            self.held_bytes -= held(&old.remembered);
            self.key_bytes -= KEY_OVERHEAD + key.text.len();
            self.order.retain(|other| *other != key.text);
        }
    }

    /// All keys with their outcomes so far, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (IdempotencyKey, &Remembered)> {
        self.order.iter().filter_map(|text| {
            let Record { fingerprint, remembered } = self.records.get(text)?;
            Some((IdempotencyKey { text: Arc::clone(text), fingerprint: *fingerprint }, remembered))
        })
    }

    /// The memory of keys and entries. Answers are charged by themselves, since callers may hold them longer.
    pub(crate) const fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Copies an answer, so that it does not keep the log's memory alive. An answer that is too large is not
    /// held.
    fn own(&self, remembered: Remembered) -> Remembered {
        match remembered {
            Remembered::Settled(Ok(Answer::Response(bytes))) if bytes.len() > self.max_bytes => {
                Remembered::Gone
            }
            Remembered::Settled(Ok(Answer::Response(bytes))) => {
                let own = charged(Bytes::copy_from_slice(&bytes), &self.account);
                Remembered::Settled(Ok(Answer::Response(own)))
            }
            other => other,
        }
    }

    fn trim(&mut self) {
        while self.order.len() > self.max_keys {
            if let Some(oldest) = self.order.pop_front()
                && let Some(record) = self.records.remove(&oldest)
            {
                self.held_bytes -= held(&record.remembered);
                self.key_bytes -= KEY_OVERHEAD + oldest.len();
            }
        }
        let mut index = 0;
        while self.held_bytes > self.max_bytes && index < self.order.len() {
            if let Some(record) = self.records.get_mut(&self.order[index]) {
                let freed = held(&record.remembered);
                if freed > 0 {
                    record.remembered = Remembered::Gone;
                    self.held_bytes -= freed;
                }
            }
            index += 1;
        }
    }
}

/// The memory of a key besides its text: its entries in both tables.
const KEY_OVERHEAD: usize = size_of::<(Arc<str>, Record)>() + size_of::<Arc<str>>() + 80;

fn held(remembered: &Remembered) -> usize {
    match remembered {
        Remembered::Settled(Ok(Answer::Response(bytes))) => bytes.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str, body: &[u8]) -> IdempotencyKey {
        IdempotencyKey::new(text, body).unwrap()
    }

    fn answer(bytes: &'static [u8]) -> Remembered {
        Remembered::Settled(Ok(Answer::Response(Bytes::from_static(bytes))))
    }

    #[test]
    fn a_key_stands_for_one_message_only() {
        let mut keys = RememberedKeys::new(10, 100, MemoryAccount::new(0));
        keys.remember(&key("a", b"one"), Remembered::Accepted);
        assert!(matches!(keys.recall(&key("a", b"one")), Ok(Some(Remembered::Accepted))));
        assert_eq!(keys.recall(&key("a", b"two")).unwrap_err(), Error::KeyReused);
        assert!(matches!(keys.recall(&key("b", b"one")), Ok(None)));
    }

    #[test]
    fn the_oldest_keys_and_answers_are_forgotten_first() {
        let mut keys = RememberedKeys::new(2, 5, MemoryAccount::new(0));
        keys.remember(&key("a", b""), answer(b"123"));
        keys.remember(&key("b", b""), answer(b"456"));
        assert!(matches!(keys.recall(&key("a", b"")), Ok(Some(Remembered::Gone))));
        assert!(matches!(keys.recall(&key("b", b"")), Ok(Some(Remembered::Settled(_)))));
        keys.remember(&key("c", b""), answer(b"too long for the store"));
        assert!(matches!(keys.recall(&key("c", b"")), Ok(Some(Remembered::Gone))));
        assert!(matches!(keys.recall(&key("a", b"")), Ok(None)));
        assert_eq!((keys.held_bytes, keys.account.used()), (3, 3));
        assert_eq!(keys.key_bytes(), 2 * (KEY_OVERHEAD + 1));
        keys.forget(&key("b", b""));
        keys.forget(&key("c", b""));
        assert_eq!((keys.key_bytes(), keys.account.used()), (0, 0));
    }

    #[test]
    fn a_key_reads_back_from_the_journal_and_means_the_same_message_to_every_server() {
        let written = key("a key", b"one");
        assert_eq!(written.fingerprint, 0x80bf7733f1207381);
        let read = IdempotencyKey::from_bytes(&written.to_bytes()).unwrap();
        assert_eq!((&*read.text, read.fingerprint), ("a key", written.fingerprint));
        assert!(IdempotencyKey::from_bytes(b"short").is_none());
    }

    #[test]
    fn an_empty_or_endless_key_is_refused() {
        assert!(IdempotencyKey::new("", b"").is_none());
        assert!(IdempotencyKey::new(&"x".repeat(256), b"").is_none());
    }

    #[test]
    fn all_keys_are_listed_oldest_first() {
        let mut keys = RememberedKeys::new(2, 100, MemoryAccount::new(0));
        for text in ["a", "b", "c"] {
            keys.remember(&key(text, b"message"), Remembered::Accepted);
        }
        let listed: Vec<_> = keys.iter().map(|(key, _)| (key.text.to_string(), key.fingerprint)).collect();
        let fingerprint = key("d", b"message").fingerprint;
        assert_eq!(listed, [("b".to_owned(), fingerprint), ("c".to_owned(), fingerprint)]);
        keys.forget(&key("b", b"message"));
        assert_eq!(keys.iter().map(|(key, _)| key.text.to_string()).collect::<Vec<_>>(), ["c"]);
        assert_eq!(keys.order, [Arc::<str>::from("c")]);
    }

    #[test]
    fn an_outcome_replaces_the_earlier_one_of_the_same_key() {
        let mut keys = RememberedKeys::new(2, 5, MemoryAccount::new(0));
        keys.remember(&key("a", b""), Remembered::Enqueueing);
        keys.remember(&key("a", b""), answer(b"12345"));
        assert!(matches!(keys.recall(&key("a", b"")), Ok(Some(Remembered::Settled(_)))), "it just fits");
        keys.remember(&key("a", b""), answer(b"12"));
        assert_eq!((keys.held_bytes, keys.key_bytes()), (2, KEY_OVERHEAD + 1));
        keys.remember(&key("b", b""), answer(b"345"));
        assert_eq!(keys.held_bytes, 5);
        keys.remember(&key("c", b""), Remembered::Accepted);
        assert_eq!((keys.held_bytes, keys.key_bytes()), (3, 2 * (KEY_OVERHEAD + 1)));
    }

    #[test]
    fn no_more_answers_are_forgotten_than_necessary() {
        let mut keys = RememberedKeys::new(9, 5, MemoryAccount::new(0));
        for text in ["a", "b", "c"] {
            keys.remember(&key(text, b""), answer(b"12"));
        }
        let is_held = |text| matches!(keys.recall(&key(text, b"")), Ok(Some(Remembered::Settled(_))));
        assert_eq!((["a", "b", "c"].map(is_held), keys.held_bytes), ([false, true, true], 4));
    }

    #[test]
    fn a_key_of_the_greatest_length_is_accepted() {
        assert!(IdempotencyKey::new(&"x".repeat(255), b"").is_some());
        assert!(IdempotencyKey::new("x", b"").is_some());
    }
}

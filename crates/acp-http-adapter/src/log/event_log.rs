//! Both directions of one instance, bounded.
//!
//! What the agent said and what clients sent are held apart, so that a client's large prompts never push the
//! agent's words out of replay. Journal numbers, drawn from one counter for the whole server, put them back in
//! one order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::{Entry, EventKind, Framer, Ring, Span};
use crate::budget::MemoryBudget;
use crate::limits::Limits;

/// What clients sent may take this part of an instance's replay memory on top of it.
const SENT_SHARE: usize = 4;

#[derive(Debug)]
pub(crate) struct EventLog {
    /// What readers of the stream see.
    pub(crate) events: Ring,
    /// What only the journal shows.
    pub(crate) sent: Ring,
    /// The number of the first event of this life of the id.
    pub(crate) first_sequence: u64,
    /// The number that the next numbered event gets.
    pub(crate) next_sequence: u64,
    journal: Arc<AtomicU64>,
    budget: Arc<MemoryBudget>,
    max_bytes: usize,
    max_events: usize,
}

impl EventLog {
    pub(crate) fn new(
        first_sequence: u64,
        journal: Arc<AtomicU64>,
        budget: Arc<MemoryBudget>,
        limits: &Limits,
    ) -> Self {
        Self {
            events: Ring::default(),
            sent: Ring::default(),
            first_sequence,
            next_sequence: first_sequence,
            journal,
            budget,
            max_bytes: limits.replay_bytes,
            max_events: limits.replay_events,
        }
    }

    /// Appends framed events that came together. Numbered spans carry the numbers from `next_sequence` on, in
    /// order. Returns what had to be forgotten for them.
    pub(crate) fn append(&mut self, chunk: &Bytes, spans: &[(EventKind, Span)], at_ms: u64) -> Vec<Entry> {
        // Drawn while the instance is locked: a reader that loads the counter and then takes this lock is sure
        // to find everything up to what it loaded.
        let journal = self.journal.fetch_add(spans.len() as u64, Ordering::SeqCst);
        for (journal, &(kind, span)) in (journal..).zip(spans) {
            if kind.is_numbered() {
                self.next_sequence += 1;
            }
            let Span { frame_start, data_start, data_end } = span;
            let sequence = self.next_sequence - 1;
            let chunk = chunk.clone();
            let entry = Entry { journal, sequence, at_ms, kind, chunk, frame_start, data_start, data_end };
            self.budget.charge(entry.cost());
            self.events.push(entry);
        }
        self.trim_events()
    }

    /// Appends one event. Returns its sequence number and what had to be forgotten.
    pub(crate) fn append_one(&mut self, kind: EventKind, data: &[u8], at_ms: u64) -> (u64, Vec<Entry>) {
        let number = self.next_sequence;
        let mut framer = Framer::with_capacity(data.len() + Framer::OVERHEAD);
        let span = framer.push(kind, kind.is_numbered().then_some(number), data);
        let forgotten = self.append(&framer.finish(), &[(kind, span)], at_ms);
        (number, forgotten)
    }

    /// Notes what a client sent, for the journal.
    pub(crate) fn append_sent(&mut self, message: Bytes, at_ms: u64) {
        let journal = self.journal.fetch_add(1, Ordering::SeqCst);
        let data_end = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let sequence = self.next_sequence - 1;
        let entry = Entry {
            journal,
            sequence,
            at_ms,
            kind: EventKind::Sent,
            chunk: message,
            frame_start: 0,
            data_start: 0,
            data_end,
        };
        self.budget.charge(entry.cost());
        self.sent.push(entry);
        while self.sent.cost() > self.max_bytes / SENT_SHARE || self.sent.len() > self.max_events {
            let Some(forgotten) = self.sent.forget_oldest() else { break };
            self.budget.refund(forgotten.cost());
        }
    }

    fn trim_events(&mut self) -> Vec<Entry> {
        let mut forgotten = Vec::new();
        while self.events.cost() > self.max_bytes || self.events.len() > self.max_events {
            let Some(entry) = self.events.forget_oldest() else { break };
            self.budget.refund(entry.cost());
            forgotten.push(entry);
        }
        forgotten
    }

    /// The journal number of the newest event of either direction; 0 when there never was one.
    pub(crate) fn newest_journal(&self) -> u64 {
        [&self.events, &self.sent]
            .into_iter()
            .filter_map(Ring::newest)
            .map(|entry| entry.journal)
            .max()
            .unwrap_or(0)
    }

    /// The age of the oldest event that could be forgotten, as its journal number.
    pub(crate) fn oldest_journal(&self) -> Option<u64> {
        let oldest =
            |ring: &Ring| (ring.len() > 1).then(|| ring.oldest().map(|entry| entry.journal)).flatten();
        [oldest(&self.events), oldest(&self.sent)].into_iter().flatten().min()
    }

    /// Forgets at least `bytes`, oldest first, as far as there is anything to forget. Returns what the agent had
    /// said among it.
    pub(crate) fn shrink(&mut self, bytes: usize) -> Vec<Entry> {
        let mut forgotten = Vec::new();
        let mut freed = 0;
        while freed < bytes {
            let age =
                |ring: &Ring| (ring.len() > 1).then(|| ring.oldest().map(|entry| entry.journal)).flatten();
            let entry = match (age(&self.events), age(&self.sent)) {
                (Some(event), Some(sent)) if sent < event => self.sent.forget_oldest(),
                (None, Some(_)) => self.sent.forget_oldest(),
                (Some(_), _) => self.events.forget_oldest(),
                (None, None) => None,
            };
            let Some(entry) = entry else { break };
            freed += entry.cost();
            self.budget.refund(entry.cost());
            if entry.kind != EventKind::Sent {
                forgotten.push(entry);
            }
        }
        forgotten
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.budget.refund(self.events.cost() + self.sent.cost());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(max_bytes: usize, max_events: usize) -> (EventLog, Arc<MemoryBudget>) {
        let budget = MemoryBudget::new(1 << 20);
        let limits = Limits { replay_bytes: max_bytes, replay_events: max_events, ..Limits::default() };
        (EventLog::new(1000, Arc::new(AtomicU64::new(1)), Arc::clone(&budget), &limits), budget)
    }

    #[test]
    fn numbers_grow_by_one_and_only_for_messages_and_exits() {
        let (mut log, _) = log(1 << 20, 100);
        assert_eq!(log.append_one(EventKind::Message, b"a", 0).0, 1000);
        log.append_one(EventKind::Unparsed, b"b", 0);
        assert_eq!(log.append_one(EventKind::Exit, b"c", 0).0, 1001);
        let frames: Vec<_> =
            log.events.from(0).map(|e| e.chunk.slice(e.frame_start as usize..e.frame_end())).collect();
        assert_eq!(&frames[0][..], b"event: message\nid: 1000\ndata: a\n\n");
        assert_eq!(&frames[1][..], b"event: unparsed\ndata: b\n\n");
    }

    #[test]
    fn the_past_is_bounded_by_count_and_by_bytes_but_the_newest_always_stays() {
        let (mut log, budget) = log(1000, 3);
        for _ in 0..10 {
            log.append_one(EventKind::Message, b"x", 0);
        }
        assert_eq!(log.events.len(), 3);
        assert_eq!(log.events.lost().sequence, 1006);
        log.append_one(EventKind::Message, &[b'y'; 5000], 0);
        assert_eq!(log.events.len(), 1);
        assert!(budget.used() >= 5000);
        drop(log);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_clients_send_never_pushes_out_what_the_agent_said() {
        let (mut log, _) = log(4000, 100);
        log.append_one(EventKind::Message, b"keep", 0);
        for _ in 0..50 {
            log.append_sent(Bytes::from(vec![b'z'; 900]), 0);
        }
        assert_eq!(log.events.len(), 1);
        assert!(log.sent.len() <= 2);
    }

    #[test]
    fn shrinking_forgets_the_oldest_of_both_directions_first() {
        let (mut log, _) = log(1 << 20, 100);
        log.append_sent(Bytes::from_static(b"first"), 0);
        log.append_one(EventKind::Message, b"second", 0);
        log.append_sent(Bytes::from_static(b"third"), 0);
        log.append_one(EventKind::Message, b"fourth", 0);
        assert!(log.shrink(1).is_empty());
        assert_eq!(log.sent.len(), 1);
        assert_eq!(log.shrink(1).len(), 1);
        assert!(log.shrink(1 << 20).is_empty());
        assert_eq!((log.events.len(), log.sent.len()), (1, 1));
    }

    #[test]
    fn a_cursor_resumes_right_behind_its_message() {
        let (mut log, _) = log(1 << 20, 100);
        log.append_one(EventKind::Message, b"0", 0);
        log.append_one(EventKind::Answered, b"1", 0);
        log.append_one(EventKind::Message, b"2", 0);
        assert_eq!(log.events.after_sequence(999), 0);
        assert_eq!(log.events.after_sequence(1000), 1);
        assert_eq!(log.events.after_sequence(1001), 3);
        assert_eq!(log.events.next_sequence(1), Some(1001));
    }
}

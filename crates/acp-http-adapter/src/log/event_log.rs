//! Both directions of one instance, bounded.
//!
//! What the agent said and what clients sent are held apart, so that a client's large prompts never push the
//! agent's words out of replay. Journal numbers, drawn from one counter for the whole server, put them back in
//! one order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};

use super::entry::Chunk;
use super::{Entry, EventKind, Framer, Ring, Slot};
use crate::budget::MemoryBudget;
use crate::limits::Limits;

/// What clients sent may take this part of an instance's replay memory on top of it.
const SENT_SHARE: usize = 4;
/// Messages of clients up to this size are copied to where the others stand. Each in memory of its own would be
/// taken from where one was forgotten that long ago that no cache knows it any more.
const COPIED: usize = 4 << 10;
/// How much memory is taken for them at a time: about as much as is held already, within these.
const PAGE_BYTES: std::ops::RangeInclusive<usize> = 1 << 10..=64 << 10;

#[derive(Debug)]
pub(crate) struct EventLog {
    /// What readers of the stream see.
    pub(crate) events: Ring,
    /// What only the journal shows.
    pub(crate) sent: Ring,
    /// Where the next messages of clients will stand.
    page: BytesMut,
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
            page: BytesMut::new(),
            first_sequence,
            next_sequence: first_sequence,
            journal,
            budget,
            max_bytes: limits.replay_bytes,
            max_events: limits.replay_events,
        }
    }

    /// Appends framed events that came together. Numbered ones carry the numbers from `next_sequence` on, in order.
    /// What has to be forgotten for them is shown to `last_look`.
    pub(crate) fn append(
        &mut self,
        bytes: Bytes,
        slots: &[Slot],
        at_ms: u64,
        mut last_look: impl FnMut(Entry<'_>),
    ) {
        let Some(last) = slots.last() else { return };
        // Drawn while the instance is locked: a reader that loads the counter and then takes this lock is sure
        // to find everything up to what it loaded.
        let first_journal = self.journal.fetch_add(slots.len() as u64, Ordering::SeqCst);
        let chunk = Chunk { bytes, at_ms, first_journal, sequence_before: self.next_sequence - 1 };
        self.next_sequence += u64::from(last.numbered);
        let added = self.events.push(chunk, slots);
        let mut freed = 0;
        while self.events.cost() > self.max_bytes || self.events.len() > self.max_events {
            let Some(cost) = self.events.forget_oldest(&mut last_look) else { break };
            freed += cost;
        }
        self.budget.exchange(freed, added);
    }

    /// Appends one event. Returns its sequence number.
    pub(crate) fn append_one(
        &mut self,
        kind: EventKind,
        data: &[u8],
        at_ms: u64,
        last_look: impl FnMut(Entry<'_>),
    ) -> u64 {
        let number = self.next_sequence;
        let mut framer = Framer::with_capacity(data.len() + Framer::OVERHEAD);
        let slot = framer.push(kind, kind.is_numbered().then_some(number), data);
        self.append(framer.finish(), &[slot], at_ms, last_look);
        number
    }

    /// Notes what a client sent, for the journal: a line without its line feed.
    pub(crate) fn append_sent(&mut self, line: &Bytes, at_ms: u64) {
        let length = line.len().saturating_sub(1);
        let message = if length > COPIED { line.slice(..length) } else { self.on_page(&line[..length]) };
        let first_journal = self.journal.fetch_add(1, Ordering::SeqCst);
        let data_end = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let slot = Slot { frame_start: 0, data_end, numbered: 0, data_offset: 0, kind: EventKind::Sent };
        let chunk = Chunk { bytes: message, at_ms, first_journal, sequence_before: self.next_sequence - 1 };
        let added = self.sent.push(chunk, &[slot]);
        let mut freed = 0;
        while self.sent.cost() > self.max_bytes / SENT_SHARE || self.sent.len() > self.max_events {
            let Some(cost) = self.sent.forget_oldest(&mut |_| {}) else { break };
            freed += cost;
        }
        self.budget.exchange(freed, added);
    }

    fn on_page(&mut self, message: &[u8]) -> Bytes {
        if self.page.capacity() < message.len() {
            let usual = self.sent.cost().clamp(*PAGE_BYTES.start(), *PAGE_BYTES.end());
            self.page = BytesMut::with_capacity(usual.max(message.len()));
        }
        self.page.extend_from_slice(message);
        self.page.split().freeze()
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

    /// Forgets at least `bytes`, oldest first, as far as there is anything to forget. What the agent had said among it
    /// is shown to `last_look`.
    pub(crate) fn shrink(&mut self, bytes: usize, mut last_look: impl FnMut(Entry<'_>)) {
        let mut freed = 0;
        while freed < bytes {
            let age =
                |ring: &Ring| (ring.len() > 1).then(|| ring.oldest().map(|entry| entry.journal)).flatten();
            let cost = match (age(&self.events), age(&self.sent)) {
                (Some(event), Some(sent)) if sent < event => self.sent.forget_oldest(&mut |_| {}),
                (None, Some(_)) => self.sent.forget_oldest(&mut |_| {}),
                (Some(_), _) => self.events.forget_oldest(&mut last_look),
                (None, None) => None,
            };
            let Some(cost) = cost else { break };
            freed += cost;
        }
        self.budget.refund(freed);
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

    fn append(log: &mut EventLog, kind: EventKind, data: &[u8]) -> u64 {
        log.append_one(kind, data, 0, |_| {})
    }

    #[test]
    fn numbers_grow_by_one_and_only_for_messages_and_exits() {
        let (mut log, _) = log(1 << 20, 100);
        assert_eq!(append(&mut log, EventKind::Message, b"a"), 1000);
        append(&mut log, EventKind::Unparsed, b"b");
        assert_eq!(append(&mut log, EventKind::Exit, b"c"), 1001);
        let frames: Vec<_> = log.events.runs_from(0).map(|run| run.share()).collect();
        assert_eq!(&frames[0][..], b"event: message\nid: 1000\ndata: a\n\n");
        assert_eq!(&frames[1][..], b"event: unparsed\ndata: b\n\n");
    }

    #[test]
    fn the_past_is_bounded_by_count_and_by_bytes_but_the_newest_always_stays() {
        let (mut log, budget) = log(1000, 3);
        for _ in 0..10 {
            append(&mut log, EventKind::Message, b"x");
        }
        assert_eq!(log.events.len(), 3);
        assert_eq!(log.events.lost().sequence, 1006);
        append(&mut log, EventKind::Message, &[b'y'; 5000]);
        assert_eq!(log.events.len(), 1);
        assert!(budget.used() >= 5000);
        drop(log);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_clients_send_never_pushes_out_what_the_agent_said() {
        let (mut log, _) = log(4000, 100);
        append(&mut log, EventKind::Message, b"keep");
        for _ in 0..50 {
            log.append_sent(&Bytes::from(vec![b'z'; 901]), 0);
        }
        assert_eq!(log.events.len(), 1);
        assert!(log.sent.len() <= 2);
    }

    #[test]
    fn what_clients_send_is_held_as_it_is_over_pages_and_beside_them() {
        let (mut log, _) = log(1 << 20, 1000);
        let sizes = [1, 700, 0, 900, COPIED, COPIED + 1, 64 << 10, 3, 30_000];
        let messages: Vec<_> =
            sizes.iter().zip(b'a'..).map(|(size, byte)| Bytes::from(vec![byte; *size])).collect();
        for message in &messages {
            log.append_sent(&[message, &b"\n"[..]].concat().into(), 0);
        }
        let held: Vec<_> = log.sent.from(0).map(|entry| entry.data.to_vec()).collect();
        assert_eq!(held, messages);
    }

    #[test]
    fn shrinking_forgets_the_oldest_of_both_directions_first() {
        let (mut log, _) = log(1 << 20, 100);
        log.append_sent(&Bytes::from_static(b"first\n"), 0);
        append(&mut log, EventKind::Message, b"second");
        log.append_sent(&Bytes::from_static(b"third\n"), 0);
        append(&mut log, EventKind::Message, b"fourth");
        let mut shrink = |bytes| {
            let mut said = 0;
            log.shrink(bytes, |_| said += 1);
            (said, log.sent.len())
        };
        assert_eq!(shrink(1), (0, 1));
        assert_eq!(shrink(1), (1, 1));
        assert_eq!(shrink(1 << 20), (0, 1));
        assert_eq!((log.events.len(), log.sent.len()), (1, 1));
    }

    #[test]
    fn a_cursor_resumes_right_behind_its_message() {
        let (mut log, _) = log(1 << 20, 100);
        append(&mut log, EventKind::Message, b"0");
        append(&mut log, EventKind::Answered, b"1");
        append(&mut log, EventKind::Message, b"2");
        assert_eq!(log.events.after_sequence(999), 0);
        assert_eq!(log.events.after_sequence(1000), 1);
        assert_eq!(log.events.after_sequence(1001), 3);
        assert_eq!(log.events.next_sequence(1), Some(1001));
    }
}

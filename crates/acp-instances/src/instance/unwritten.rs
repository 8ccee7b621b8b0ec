//! The entries of an instance that are not in the journal yet, and the effects that wait for them.
//!
//! Nothing has an effect outside the server before it is written: readers do not receive an event, the agent does not
//! receive a message, and no client learns that its message was accepted. So a server that dies has promised nothing
//! that the journal lacks. Without a journal, every entry counts as written at once.

use std::collections::VecDeque;

use bytes::Bytes;
use event_log::Run;
use journal::Entry;
use tokio::sync::oneshot;

use super::settlements::Settlements;

/// The log of what the agent says, in an instance's journal.
pub(crate) const OUTPUT: u8 = 0;
/// The log of what clients send.
pub(crate) const INPUT: u8 = 1;
/// The memory of this many entries is kept for later ones.
const KEPT_ENTRIES: usize = 64;

/// An effect that waits until all entries before it are written.
#[derive(Debug)]
enum Effect {
    Settle(Settlements),
    Acknowledge(oneshot::Sender<()>),
}

/// Effects that can take place now. The caller delivers them after releasing the lock.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct Effects(Vec<Effect>);

impl Effects {
    pub(crate) fn deliver(self) {
        for effect in self.0 {
            match effect {
                Effect::Settle(settlements) => settlements.deliver(),
                // A sender that has left needs no result.
                Effect::Acknowledge(sender) => drop(sender.send(())),
            }
        }
    }
}

/// The entries that wait for the journal, and the effects that wait for them.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    /// False without a journal, and while the journal is suspended.
    is_journalled: bool,
    entries: Vec<Entry>,
    /// The number of entries so far, and how many of them are written.
    pushed: u64,
    written: u64,
    /// The order number of the newest record, and of the newest one that is written.
    newest: u64,
    visible: u64,
    /// The effects that wait, each with the number of entries that come before it.
    held: VecDeque<(u64, Effect)>,
    /// True while a task writes. Other tasks leave their entries to it.
    is_writing: bool,
    /// True after a failed write, until it is tried again.
    is_paused: bool,
    /// The size of the entries that are not written yet.
    bytes: usize,
}

impl Unwritten {
    /// Starts to keep entries for the journal. `newest` is the newest order number of what happened before.
    pub(crate) fn resume(&mut self, newest: u64) {
        (self.is_journalled, self.newest, self.visible) = (true, newest, newest);
    }

    /// Stops keeping entries for the journal. Every effect that waits takes place without it.
    pub(crate) fn suspend(&mut self) -> Effects {
        (self.is_journalled, self.is_paused) = (false, false);
        self.entries = Vec::new();
        (self.visible, self.written, self.bytes) = (self.newest, self.pushed, 0);
        self.ready()
    }

    pub(crate) const fn is_journalled(&self) -> bool {
        self.is_journalled
    }

    /// Adds records that were appended to a log.
    pub(crate) fn push(&mut self, log: u8, run: &Run) {
        if self.is_journalled {
            self.newest = run.last().order;
            self.bytes += run.bytes();
            self.pushed += 1;
            self.entries.push(Entry::Records { log, run: run.clone(), stream_offset: 0 });
        }
    }

    /// Adds a note about the last record.
    pub(crate) fn push_note(&mut self, tag: u8, bytes: impl FnOnce() -> Bytes) {
        if self.is_journalled {
            let bytes = bytes();
            self.bytes += bytes.len();
            self.pushed += 1;
            self.entries.push(Entry::Note { tag, order: self.newest, bytes });
        }
    }

    /// The order number up to which readers may see events.
    pub(crate) const fn visible_up_to(&self) -> u64 {
        if self.is_clean() { u64::MAX } else { self.visible }
    }

    /// True if everything that has happened is written.
    pub(crate) const fn is_clean(&self) -> bool {
        self.written == self.pushed
    }

    /// Delivers settlements once everything that has happened so far is written. Returns them if that is so already.
    pub(crate) fn hold(&mut self, settlements: Settlements) -> Option<Settlements> {
        if self.is_clean() {
            return Some(settlements);
        }
        if !settlements.is_empty() {
            self.held.push_back((self.pushed, Effect::Settle(settlements)));
        }
        None
    }

    /// A signal that everything that has happened so far is written. `None` if that is so already.
    pub(crate) fn acknowledgement(&mut self) -> Option<oneshot::Receiver<()>> {
        if self.is_clean() {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.held.push_back((self.pushed, Effect::Acknowledge(sender)));
        Some(receiver)
    }

    /// The number of entries so far.
    pub(crate) const fn pushed(&self) -> u64 {
        self.pushed
    }

    /// True if the first `entries` entries are written.
    pub(crate) const fn has_written(&self, entries: u64) -> bool {
        self.written >= entries
    }

    /// How many bytes wait to be written.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// True when entries wait and no task writes them.
    pub(crate) const fn has_work(&self) -> bool {
        !self.is_writing && !self.is_paused && !self.entries.is_empty()
    }

    /// Begins to write. Returns the entries; `None` if there are none, or if another task writes and will write these
    /// too.
    pub(crate) fn begin(&mut self) -> Option<Vec<Entry>> {
        if !self.has_work() {
            return None;
        }
        self.is_writing = true;
        Some(std::mem::take(&mut self.entries))
    }

    /// Called after entries were written. Returns those that were added in the meantime; if there are none, the
    /// task stops writing.
    pub(crate) fn next(&mut self, mut written: Vec<Entry>) -> Option<Vec<Entry>> {
        written.clear();
        // A burst must not hold memory for ever.
        written.shrink_to(KEPT_ENTRIES);
        if self.entries.is_empty() {
            // Reuse the memory.
            self.entries = written;
            self.is_writing = false;
            return None;
        }
        Some(std::mem::replace(&mut self.entries, written))
    }

    /// Called if entries could not be written. Puts them back in front; the task stops writing.
    pub(crate) fn put_back(&mut self, mut entries: Vec<Entry>) {
        entries.append(&mut self.entries);
        self.entries = entries;
        (self.is_writing, self.is_paused) = (false, true);
    }

    /// Allows another try after a failed write.
    pub(crate) const fn unpause(&mut self) {
        self.is_paused = false;
    }

    /// Records that the oldest entries are written.
    pub(crate) fn on_written(&mut self, entries: &[Entry]) -> Effects {
        self.written += entries.len() as u64;
        let is_record = |entry: &Entry| match entry {
            Entry::Records { run, .. } => Some(run.last().order),
            Entry::Note { .. } => None,
        };
        if let Some(order) = entries.iter().rev().find_map(is_record) {
            self.visible = order;
        }
        self.bytes -= entries.iter().map(length).sum::<usize>();
        self.ready()
    }

    fn ready(&mut self) -> Effects {
        let ready = self.held.iter().take_while(|(before, _)| *before <= self.written).count();
        Effects(self.held.drain(..ready).map(|(_, effect)| effect).collect())
    }
}

fn length(entry: &Entry) -> usize {
    match entry {
        Entry::Records { run, .. } => run.bytes(),
        Entry::Note { bytes, .. } => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use event_log::{Batch, Log, MemoryAccount, OrderCounter, RecordInfo, Retention, Tag};

    use super::*;

    fn run(log: &mut Log) -> Run {
        let mut batch = Batch::with_capacity(1, 1);
        batch.push(RecordInfo::numbered(Tag(0)), b"x");
        log.append(batch, 0, |_| {}).unwrap()
    }

    fn log() -> Log {
        let retention = Retention { max_bytes: 1000, max_records: 10 };
        Log::new(1, Arc::new(OrderCounter::starting_at(5)), MemoryAccount::new(1000), retention)
    }

    #[test]
    fn without_a_journal_everything_takes_effect_at_once() {
        let (mut unwritten, mut log) = (Unwritten::default(), log());
        unwritten.push(OUTPUT, &run(&mut log));
        assert_eq!(unwritten.visible_up_to(), u64::MAX);
        assert!(unwritten.acknowledgement().is_none());
        assert!(unwritten.hold(Settlements::default()).is_some());
        assert!(unwritten.begin().is_none());
    }

    #[test]
    fn effects_wait_for_the_entries_before_them_and_for_no_others() {
        let (mut unwritten, mut log) = (Unwritten::default(), log());
        unwritten.resume(4);
        assert_eq!(unwritten.visible_up_to(), u64::MAX);
        unwritten.push(OUTPUT, &run(&mut log));
        let mut first = unwritten.acknowledgement().unwrap();
        let entries = unwritten.begin().unwrap();
        unwritten.push(OUTPUT, &run(&mut log));
        unwritten.push_note(1, || Bytes::from_static(b"note"));
        let mut second = unwritten.acknowledgement().unwrap();
        assert_eq!((entries.len(), unwritten.visible_up_to()), (1, 4));
        unwritten.on_written(&entries).deliver();
        assert_eq!(unwritten.visible_up_to(), 5);
        assert!(first.try_recv().is_ok() && second.try_recv().is_err());
        assert!(unwritten.begin().is_none(), "another task writes already");
        let entries = unwritten.next(entries).unwrap();
        unwritten.on_written(&entries).deliver();
        assert_eq!((entries.len(), unwritten.visible_up_to()), (2, u64::MAX));
        assert!(second.try_recv().is_ok());
        assert!(unwritten.next(entries).is_none());
        assert_eq!(unwritten.bytes(), 0);
    }

    #[test]
    fn entries_that_could_not_be_written_stay_in_order() {
        let (mut unwritten, mut log) = (Unwritten::default(), log());
        unwritten.resume(4);
        unwritten.push(OUTPUT, &run(&mut log));
        let failed = unwritten.begin().unwrap();
        unwritten.push(INPUT, &run(&mut log));
        unwritten.put_back(failed);
        assert!(unwritten.begin().is_none(), "not before the next try");
        unwritten.unpause();
        let orders: Vec<_> = unwritten
            .begin()
            .unwrap()
            .iter()
            .map(|entry| match entry {
                Entry::Records { run, .. } => run.first().order,
                Entry::Note { order, .. } => *order,
            })
            .collect();
        assert_eq!(orders, [5, 6]);
    }

    #[test]
    fn a_suspended_journal_holds_nothing_up() {
        let (mut unwritten, mut log) = (Unwritten::default(), log());
        unwritten.resume(4);
        unwritten.push(OUTPUT, &run(&mut log));
        let mut acknowledgement = unwritten.acknowledgement().unwrap();
        unwritten.suspend().deliver();
        assert!(acknowledgement.try_recv().is_ok());
        unwritten.push(OUTPUT, &run(&mut log));
        assert!(unwritten.is_clean() && unwritten.begin().is_none());
    }

    #[test]
    fn entries_are_counted_until_they_are_written() {
        let (mut unwritten, mut log) = (Unwritten::default(), log());
        unwritten.push_note(1, || panic!("there is no journal"));
        unwritten.resume(4);
        assert!(unwritten.is_journalled() && unwritten.is_clean() && !unwritten.has_work());
        unwritten.push(OUTPUT, &run(&mut log));
        unwritten.push_note(7, || Bytes::from_static(b"note"));
        assert_eq!((unwritten.pushed(), unwritten.bytes(), unwritten.is_clean()), (2, 5, false));
        assert!(unwritten.has_work() && unwritten.has_written(0) && !unwritten.has_written(1));
        let entries = unwritten.begin().unwrap();
        assert!(matches!(&entries[1], Entry::Note { tag: 7, order: 5, bytes } if bytes == "note"));
        assert!(!unwritten.has_work(), "a task writes already");
        unwritten.on_written(&entries[..1]).deliver();
        assert_eq!((unwritten.bytes(), unwritten.visible_up_to()), (4, 5));
        assert!(unwritten.has_written(1) && !unwritten.has_written(2));
        unwritten.on_written(&entries[1..]).deliver();
        assert!(unwritten.is_clean() && unwritten.has_written(2));
        assert_eq!(unwritten.bytes(), 0);
        unwritten.suspend().deliver();
        assert!(!unwritten.is_journalled());
    }

    #[test]
    fn empty_settlements_need_not_wait() {
        let (mut unwritten, mut log) = (Unwritten::default(), log());
        unwritten.resume(4);
        unwritten.push(OUTPUT, &run(&mut log));
        assert!(unwritten.hold(Settlements::default()).is_none());
        assert!(unwritten.held.is_empty());
    }

    #[test]
    fn a_failed_write_is_not_tried_again_by_itself() {
        let (mut unwritten, mut log) = (Unwritten::default(), log());
        unwritten.resume(4);
        unwritten.push(OUTPUT, &run(&mut log));
        let failed = unwritten.begin().unwrap();
        unwritten.put_back(failed);
        assert!(!unwritten.has_work());
        unwritten.suspend().deliver();
        unwritten.resume(5);
        unwritten.push(OUTPUT, &run(&mut log));
        assert!(unwritten.has_work(), "a suspended journal starts afresh");
        assert_eq!(unwritten.visible_up_to(), 5);
    }
}

//! A bounded run of events that forgets from the front.

use std::collections::VecDeque;

use super::Entry;

/// The newest of what was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lost {
    /// Its journal number; 0 when nothing was forgotten.
    pub(crate) journal: u64,
    /// Its sequence number, or that of the last numbered event before it.
    pub(crate) sequence: u64,
    /// Whether the number was its own.
    pub(crate) numbered: bool,
}

impl Lost {
    /// Whether somebody who has seen everything up to `sequence` missed what was forgotten.
    pub(crate) const fn is_after(self, sequence: u64) -> bool {
        self.journal != 0 && (self.sequence > sequence || (self.sequence == sequence && !self.numbered))
    }
}

/// Events in order. Positions count from the instance's creation and never shift when the front is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    entries: VecDeque<Entry>,
    first: u64,
    cost: usize,
    lost: Lost,
}

impl Ring {
    pub(crate) fn push(&mut self, entry: Entry) {
        self.cost += entry.cost();
        self.entries.push_back(entry);
    }

    /// Forgets the oldest event, but never the newest.
    pub(crate) fn forget_oldest(&mut self) -> Option<Entry> {
        if self.entries.len() <= 1 {
            return None;
        }
        let entry = self.entries.pop_front()?;
        self.first += 1;
        self.cost -= entry.cost();
        self.lost =
            Lost { journal: entry.journal, sequence: entry.sequence, numbered: entry.kind.is_numbered() };
        Some(entry)
    }

    pub(crate) fn oldest(&self) -> Option<&Entry> {
        self.entries.front()
    }

    pub(crate) fn newest(&self) -> Option<&Entry> {
        self.entries.back()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What all of it costs.
    pub(crate) const fn cost(&self) -> usize {
        self.cost
    }

    pub(crate) const fn lost(&self) -> Lost {
        self.lost
    }

    /// The position of the oldest event held.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// The position that the next event will get.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// The events from a position on.
    pub(crate) fn from(&self, position: u64) -> impl Iterator<Item = &Entry> {
        let skip = usize::try_from(position.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.entries.range(skip.min(self.entries.len())..)
    }

    /// The position of the first event that is newer than a journal number.
    pub(crate) fn after_journal(&self, journal: u64) -> u64 {
        self.first + self.entries.partition_point(|entry| entry.journal <= journal) as u64
    }

    /// The position right behind the numbered event `sequence`.
    pub(crate) fn after_sequence(&self, sequence: u64) -> u64 {
        let before = self.entries.partition_point(|entry| {
            entry.sequence < sequence || (entry.sequence == sequence && entry.kind.is_numbered())
        });
        self.first + before as u64
    }

    /// The sequence number of the first numbered event from a position on.
    pub(crate) fn next_sequence(&self, position: u64) -> Option<u64> {
        self.from(position).find(|entry| entry.kind.is_numbered()).map(|entry| entry.sequence)
    }
}

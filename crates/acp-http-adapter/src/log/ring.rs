//! A bounded run of events that forgets from the front.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::Entry;
use super::entry::{Chunk, Slot};

/// Chunks up to this size leave their memory to those that come: in a flood a chunk comes for each that is forgotten, and
/// memory that the system hands out anew costs more than all that is done with it.
const MAX_SPARE: usize = 256 << 10;
const MIN_SPARE: usize = 4 << 10;

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
///
/// What events that came together have in common is held once; each adds a few bytes of its own. So an agent's flood
/// costs by the read rather than by the line, here and for every reader.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: VecDeque<Slot>,
    /// The chunks that the slots stand in, each with the position of its first event.
    chunks: VecDeque<(u64, Chunk)>,
    first: u64,
    cost: usize,
    lost: Lost,
    /// Memory of a chunk that was forgotten and that no reader holds any more.
    spare: Option<BytesMut>,
}

impl Ring {
    /// Appends events that came together. Returns what they cost.
    pub(crate) fn push(&mut self, chunk: Chunk, slots: &[Slot]) -> usize {
        if slots.is_empty() {
            return 0;
        }
        let cost = slots.iter().map(|slot| slot.cost()).sum();
        self.cost += cost;
        self.chunks.push_back((self.end(), chunk));
        self.slots.extend(slots);
        cost
    }

    /// Forgets the oldest event, but never the newest. Returns what that frees.
    pub(crate) fn forget_oldest(&mut self, last_look: &mut impl FnMut(Entry<'_>)) -> Option<usize> {
        if self.slots.len() <= 1 {
            return None;
        }
        let slot = self.slots.pop_front()?;
        let (start, chunk) = self.chunks.front()?;
        let entry = look(*start, chunk, self.first, slot);
        self.lost =
            Lost { journal: entry.journal, sequence: entry.sequence, numbered: entry.kind.is_numbered() };
        last_look(entry);
        self.first += 1;
        self.cost -= slot.cost();
        if self.chunks.get(1).is_some_and(|(start, _)| *start == self.first) {
            self.keep_memory();
        }
        Some(slot.cost())
    }

    /// Forgets the oldest chunk, but not where it stood.
    fn keep_memory(&mut self) {
        let memory = self.chunks.pop_front().map(|(_, chunk)| chunk.bytes);
        // What is small is not worth a look at whether somebody else holds it.
        let memory = memory.filter(|bytes| bytes.len() >= MIN_SPARE);
        let memory = memory.and_then(|bytes| bytes.try_into_mut().ok());
        if let Some(mut memory) = memory
            && memory.capacity() <= MAX_SPARE
        {
            memory.clear();
            self.spare = Some(memory);
        }
    }

    /// Memory for the next chunk, if there is some that fits: what is larger than needed is held for as long as the chunk.
    pub(crate) fn take_spare(&mut self, bytes: usize) -> Option<BytesMut> {
        self.spare.take_if(|spare| (bytes..=bytes * 2).contains(&spare.capacity()))
    }

    pub(crate) fn oldest(&self) -> Option<Entry<'_>> {
        self.from(self.first).next()
    }

    pub(crate) fn newest(&self) -> Option<Entry<'_>> {
        self.from(self.end().saturating_sub(1)).next()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
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
        self.first + self.slots.len() as u64
    }

    /// The events from a position on.
    pub(crate) fn from(&self, position: u64) -> impl Iterator<Item = Entry<'_>> {
        let mut position = position.clamp(self.first, self.end());
        let mut index = self.chunk_of(position);
        self.slots.range(self.index_of(position)..).map(move |slot| {
            if self.chunks.get(index + 1).is_some_and(|(start, _)| *start == position) {
                index += 1;
            }
            // Every slot has a chunk: both are pushed together, and a chunk goes with its last slot.
            let (start, chunk) = &self.chunks[index];
            position += 1;
            look(*start, chunk, position - 1, *slot)
        })
    }

    /// The events from a position on, those that stand together in one piece each.
    pub(crate) fn runs_from(&self, position: u64) -> impl Iterator<Item = Run<'_>> {
        let mut position = position.clamp(self.first, self.end());
        let mut index = self.chunk_of(position);
        std::iter::from_fn(move || {
            let (start, chunk) = self.chunks.get(index).filter(|_| position < self.end())?;
            index += 1;
            let end = self.chunks.get(index).map_or(self.end(), |(start, _)| *start);
            let (first, last) = (self.slots[self.index_of(position)], self.slots[self.index_of(end) - 1]);
            let sequence = look(*start, chunk, end - 1, last).sequence;
            let run = Run {
                bytes: &chunk.bytes,
                range: first.frame_start as usize..last.frame_end(),
                count: end - position,
                sequence,
            };
            position = end;
            Some(run)
        })
    }

    /// The index of the chunk that a position is in.
    fn chunk_of(&self, position: u64) -> usize {
        self.chunks.partition_point(|(start, _)| *start <= position).saturating_sub(1)
    }

    fn index_of(&self, position: u64) -> usize {
        usize::try_from(position - self.first).unwrap_or(usize::MAX)
    }

    /// The position of the first event that is newer than a journal number.
    pub(crate) fn after_journal(&self, journal: u64) -> u64 {
        let chunk = self.chunks.partition_point(|(_, chunk)| chunk.first_journal <= journal);
        let Some((start, chunk)) = chunk.checked_sub(1).and_then(|index| self.chunks.get(index)) else {
            return self.first;
        };
        let end = self.end_of_chunk(*start);
        (start + (journal - chunk.first_journal) + 1).clamp(self.first, end)
    }

    fn end_of_chunk(&self, start: u64) -> u64 {
        self.chunks.get(self.chunk_of(start) + 1).map_or(self.end(), |(next, _)| *next)
    }

    /// The position right behind the numbered event `sequence`.
    pub(crate) fn after_sequence(&self, sequence: u64) -> u64 {
        let chunk = self.chunks.partition_point(|(_, chunk)| chunk.sequence_before < sequence);
        let start = chunk
            .checked_sub(1)
            .and_then(|index| self.chunks.get(index))
            .map_or(self.first, |(start, _)| *start);
        let before = self
            .from(start)
            .take_while(|entry| {
                entry.sequence < sequence || (entry.sequence == sequence && entry.kind.is_numbered())
            })
            .count();
        start.max(self.first) + before as u64
    }

    /// The sequence number of the first numbered event from a position on.
    pub(crate) fn next_sequence(&self, position: u64) -> Option<u64> {
        self.from(position).find(|entry| entry.kind.is_numbered()).map(|entry| entry.sequence)
    }
}

/// Events that stand one behind the other in one piece of memory.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    bytes: &'a Bytes,
    range: std::ops::Range<usize>,
    pub(crate) count: u64,
    /// The sequence number of the last one, or of the last numbered event before it.
    pub(crate) sequence: u64,
}

impl Run<'_> {
    /// The frames.
    pub(crate) fn frames(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }

    /// The frames, as a share in the memory they stand in.
    pub(crate) fn share(&self) -> Bytes {
        self.bytes.slice(self.range.clone())
    }
}

fn look(start: u64, chunk: &Chunk, position: u64, slot: Slot) -> Entry<'_> {
    let Slot { frame_start, numbered, kind, .. } = slot;
    Entry {
        journal: chunk.first_journal + (position - start),
        sequence: chunk.sequence_before + u64::from(numbered),
        at_ms: chunk.at_ms,
        kind,
        data: &chunk.bytes[slot.data()],
        frame_length: slot.frame_end() - frame_start as usize,
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;

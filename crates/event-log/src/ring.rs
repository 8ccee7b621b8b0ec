//! A bounded queue of chunks that evicts its oldest records.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::BytesMut;

use crate::account::MemoryAccount;
use crate::chunk::{Chunk, Record, Run};

/// Chunks whose size is in this range pass their memory on to later chunks. In a flood, each new chunk evicts
/// an old one, and getting fresh memory from the system costs more than all other work on a chunk.
const SPARE_BYTES: std::ops::RangeInclusive<usize> = 4 << 10..=256 << 10;

/// The newest record that was evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Evicted {
    /// The record's order number; 0 if nothing was evicted.
    pub(crate) order: u64,
    /// The record's sequence number; if it had none, that of the last numbered record before it.
    pub(crate) sequence: u64,
    /// True if the sequence number was the record's own.
    pub(crate) is_numbered: bool,
}

impl Evicted {
    /// True if a reader that has seen everything up to `sequence` has not seen the evicted record.
    pub(crate) const fn is_after(self, sequence: u64) -> bool {
        self.order != 0 && (self.sequence > sequence || (self.sequence == sequence && !self.is_numbered))
    }
}

/// Chunks in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    chunks: VecDeque<Arc<Chunk>>,
    /// How many records of the first chunk are already evicted.
    evicted_of_first: usize,
    len: usize,
    cost: usize,
    evicted: Evicted,
    /// The memory of an evicted chunk that no reader uses any more.
    spare: Option<BytesMut>,
}

impl Ring {
    /// An empty ring from which all records up to and including `evicted` were evicted.
    pub(crate) fn continuing(evicted: Evicted) -> Self {
        Self { evicted, ..Self::default() }
    }

    pub(crate) fn push(&mut self, chunk: Arc<Chunk>) {
        self.len += chunk.slots().len();
        self.cost += chunk.slots().iter().map(|slot| slot.cost()).sum::<usize>();
        self.chunks.push_back(chunk);
    }

    /// Evicts the oldest record, but never the newest. Returns the memory cost of the evicted record.
    pub(crate) fn evict_oldest(&mut self, on_evict: &mut impl FnMut(Record<'_>)) -> Option<usize> {
        if self.len <= 1 {
            return None;
        }
        let chunk = self.chunks.front()?;
        let record = chunk.record(self.evicted_of_first);
        self.evicted =
            Evicted { order: record.order, sequence: record.sequence, is_numbered: record.is_numbered };
        on_evict(record);
        let cost = chunk.slots()[self.evicted_of_first].cost();
        self.len -= 1;
        self.cost -= cost;
        self.evicted_of_first += 1;
        if self.evicted_of_first == chunk.slots().len() {
            self.evicted_of_first = 0;
            let chunk = self.chunks.pop_front();
            // A small chunk is not worth the look.
            if let Some(chunk) = chunk.as_ref().filter(|chunk| chunk.bytes.len() >= *SPARE_BYTES.start())
                && Arc::strong_count(chunk) > 1
            {
                chunk.detach();
            }
            self.keep_memory(chunk);
        }
        Some(cost)
    }

    /// If only one record of a larger chunk is left, copies it, so that it does not keep the memory of the
    /// whole chunk.
    pub(crate) fn compact(&mut self, account: &Arc<MemoryAccount>) {
        if self.len != 1 || self.evicted_of_first == 0 {
            return;
        }
        if let Some(chunk) = self.chunks.pop_front() {
            self.evicted_of_first = 0;
            self.chunks.push_front(Arc::new(chunk.only(chunk.slots().len() - 1, account)));
        }
    }

    fn keep_memory(&mut self, chunk: Option<Arc<Chunk>>) {
        // A small chunk is not worth checking whether something else still uses it.
        let chunk = chunk.filter(|chunk| chunk.bytes.len() >= *SPARE_BYTES.start());
        let memory = chunk.and_then(Arc::into_inner).and_then(|chunk| chunk.into_bytes().try_into_mut().ok());
        if let Some(mut memory) = memory
            && memory.capacity() <= *SPARE_BYTES.end()
        {
            memory.clear();
            self.spare = Some(memory);
        }
    }

    /// Returns spare memory for the next chunk, if there is some of a suitable size. Much larger memory would
    /// be held, mostly unused, for as long as the chunk.
    pub(crate) fn take_spare(&mut self, bytes: usize) -> Option<BytesMut> {
        self.spare.take_if(|spare| (bytes..=bytes * 2).contains(&spare.capacity()))
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The total memory cost of the records.
    pub(crate) const fn cost(&self) -> usize {
        self.cost
    }

    pub(crate) const fn evicted(&self) -> Evicted {
        self.evicted
    }

    pub(crate) fn oldest(&self) -> Option<Record<'_>> {
        self.chunks.front().map(|chunk| chunk.record(self.evicted_of_first))
    }

    pub(crate) fn newest(&self) -> Option<Record<'_>> {
        self.chunks.back().map(|chunk| chunk.record(chunk.slots().len() - 1))
    }

    /// The records of the first chunk that has any after an order number.
    pub(crate) fn run_after(&self, order: u64) -> Option<Run> {
        let index = self.chunks.partition_point(|chunk| chunk.last_order() <= order);
        let chunk = self.chunks.get(index)?;
        let seen = (order + 1).saturating_sub(chunk.first_order());
        let evicted = if index == 0 { self.evicted_of_first } else { 0 };
        let start = usize::try_from(seen).unwrap_or(usize::MAX).max(evicted);
        Some(Run::new(Arc::clone(chunk), start..chunk.slots().len()))
    }

    /// The order number up to which a reader has seen all records, if it has seen everything up to
    /// `sequence`. Only held and evicted records count.
    pub(crate) fn order_of_sequence(&self, sequence: u64) -> u64 {
        let index = self.chunks.partition_point(|chunk| chunk.sequence_before() < sequence);
        let Some(chunk) = index.checked_sub(1).and_then(|index| self.chunks.get(index)) else {
            return self.evicted.order;
        };
        let is_seen = |index: &usize| {
            let record = chunk.record(*index);
            record.sequence < sequence || (record.sequence == sequence && record.is_numbered)
        };
        let seen = (0..chunk.slots().len()).take_while(is_seen).count();
        (chunk.first_order() + seen as u64).saturating_sub(1).max(self.evicted.order)
    }

    /// The sequence number of the first numbered record that is held.
    pub(crate) fn first_sequence(&self) -> Option<u64> {
        let mut evicted = self.evicted_of_first;
        for chunk in &self.chunks {
            for index in std::mem::take(&mut evicted)..chunk.slots().len() {
                let record = chunk.record(index);
                if record.is_numbered {
                    return Some(record.sequence);
                }
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;

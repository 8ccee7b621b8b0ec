//! A bounded log of the newest records of one source.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::account::MemoryAccount;
use crate::batch::{Batch, RecordInfo};
use crate::chunk::{Chunk, ChunkNumbers, Record, Run};
use crate::order::OrderCounter;
use crate::ring::{Evicted, Ring};

/// Single records up to this size are copied into a shared page. A fresh allocation for each would reuse
/// memory that was freed so long ago that it is no longer in any processor cache.
const COPIED: usize = 4 << 10;
/// The size of a page: about as much as the log already holds, within these bounds.
const PAGE_BYTES: std::ops::RangeInclusive<usize> = 1 << 10..=64 << 10;

/// How many records a log keeps.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// The most bytes, including the overhead of each record.
    pub max_bytes: usize,
    /// The most records.
    pub max_records: usize,
}

/// The newest record of a log whose records are all stored elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past {
    /// The sequence number of the first numbered record that the log ever had.
    pub first_sequence: u64,
    /// The order number of the newest record; 0 if there is none.
    pub last_order: u64,
    /// The newest sequence number.
    pub last_sequence: u64,
    /// True if that number was the newest record's own.
    pub is_numbered: bool,
}

/// The newest records of one source. The newest record is always held, whatever its size.
#[derive(Debug)]
pub struct Log {
    ring: Ring,
    first_sequence: u64,
    next_sequence: u64,
    order: Arc<OrderCounter>,
    account: Arc<MemoryAccount>,
    retention: Retention,
    /// The page that small single records are copied to.
    page: BytesMut,
}

impl Log {
    /// An empty log whose first numbered record gets `first_sequence`.
    #[must_use]
    pub fn new(
        first_sequence: u64,
        order: Arc<OrderCounter>,
        account: Arc<MemoryAccount>,
        retention: Retention,
    ) -> Self {
        let (ring, page) = (Ring::default(), BytesMut::new());
        Self { ring, first_sequence, next_sequence: first_sequence, order, account, retention, page }
    }

    /// A log whose records so far count as evicted, because they are only in a journal on disk.
    #[must_use]
    pub fn continuing(
        past: Past,
        order: Arc<OrderCounter>,
        account: Arc<MemoryAccount>,
        retention: Retention,
    ) -> Self {
        let Past { first_sequence, last_order, last_sequence, is_numbered } = past;
        let mut log = Self::new(first_sequence, order, account, retention);
        log.next_sequence = last_sequence + 1;
        log.ring = Ring::continuing(Evicted { order: last_order, sequence: last_sequence, is_numbered });
        log
    }

    /// A batch for the next append, in the memory of an evicted chunk if that fits.
    #[must_use]
    pub fn batch(&mut self, bytes: usize, records: usize) -> Batch {
        match self.ring.take_spare(bytes) {
            Some(memory) => Batch::reusing(memory, records),
            None => Batch::with_capacity(bytes, records),
        }
    }

    /// Appends records that arrived together, then evicts the oldest ones above the limits. Each evicted
    /// record is passed to `on_evict` first. Returns the appended records; `None` if the batch is empty.
    pub fn append(&mut self, batch: Batch, at_ms: u64, on_evict: impl FnMut(Record<'_>)) -> Option<Run> {
        let Batch { bytes, slots, .. } = batch;
        let last = *slots.last()?;
        let first_order = self.order.draw(slots.len() as u64);
        let numbers = ChunkNumbers { at_ms, first_order, sequence_before: self.next_sequence - 1 };
        self.next_sequence += u64::from(last.numbered);
        let chunk = Arc::new(Chunk::new(bytes.freeze(), slots, numbers, &self.account));
        Some(self.push(chunk, on_evict))
    }

    /// Appends one record, which is the first `length` bytes of `bytes`. A large record is kept without
    /// copying, a small one is copied.
    pub fn append_one(
        &mut self,
        info: RecordInfo,
        bytes: &Bytes,
        length: usize,
        at_ms: u64,
        on_evict: impl FnMut(Record<'_>),
    ) -> Run {
        let bytes = if length > COPIED { bytes.slice(..length) } else { self.copy_to_page(&bytes[..length]) };
        let mut batch = Batch::default();
        batch.push(info, &[]);
        let mut slots = batch.slots;
        slots[0].end = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let first_order = self.order.draw(1);
        let numbers = ChunkNumbers { at_ms, first_order, sequence_before: self.next_sequence - 1 };
        self.next_sequence += u64::from(info.is_numbered);
        let chunk = Arc::new(Chunk::new(bytes, slots, numbers, &self.account));
        self.push(chunk, on_evict)
    }

    fn push(&mut self, chunk: Arc<Chunk>, mut on_evict: impl FnMut(Record<'_>)) -> Run {
        let run = Run::new(Arc::clone(&chunk), 0..chunk.slots().len());
        self.ring.push(chunk);
        let Retention { max_bytes, max_records } = self.retention;
        while (self.ring.cost() > max_bytes || self.ring.len() > max_records)
            && self.ring.evict_oldest(&mut on_evict).is_some()
        {}
        run
    }

    fn copy_to_page(&mut self, bytes: &[u8]) -> Bytes {
        if self.page.capacity() < bytes.len() {
            let usual = self.ring.cost().clamp(*PAGE_BYTES.start(), *PAGE_BYTES.end());
            self.page = BytesMut::with_capacity(usual.max(bytes.len()));
        }
        self.page.extend_from_slice(bytes);
        self.page.split().freeze()
    }

    /// Evicts the oldest records until they have freed `bytes`, or none can be evicted. Returns how much was
    /// freed.
    pub fn evict(&mut self, bytes: usize, mut on_evict: impl FnMut(Record<'_>)) -> usize {
        let mut evicted = 0;
        while evicted < bytes
            && let Some(cost) = self.ring.evict_oldest(&mut on_evict)
        {
            evicted += cost;
        }
        self.ring.compact(&self.account);
        evicted
    }

    /// The bytes of the numbered record with this sequence number, to be kept after the log's lock is released.
    /// `None` if the log no longer holds the record.
    #[must_use]
    pub fn find(&self, sequence: u64) -> Option<Bytes> {
        let mut order = self.ring.order_of_sequence(sequence.checked_sub(1)?);
        loop {
            let run = self.ring.run_after(order)?;
            for (index, record) in run.records().enumerate() {
                if record.is_numbered {
                    return (record.sequence == sequence).then(|| run.share(index));
                }
            }
            order = run.last().order;
        }
    }

    /// The order number of the oldest record that could be evicted.
    #[must_use]
    pub fn oldest_evictable(&self) -> Option<u64> {
        (self.ring.len() > 1).then(|| self.ring.oldest().map(|record| record.order)).flatten()
    }

    /// The sequence number of the first numbered record of this log, whether it already exists or not.
    #[must_use]
    pub const fn first_sequence(&self) -> u64 {
        self.first_sequence
    }

    /// The sequence number that the next numbered record will get.
    #[must_use]
    pub const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The sequence number of the next numbered record that a reader at the oldest record will receive, now
    /// or later.
    #[must_use]
    pub fn oldest_sequence(&self) -> u64 {
        self.ring.first_sequence().unwrap_or(self.next_sequence)
    }

    /// The order number of the newest record; 0 if there never was one.
    #[must_use]
    pub fn newest_order(&self) -> u64 {
        self.ring.newest().map_or(0, |record| record.order)
    }

    /// The total memory cost of the records.
    #[must_use]
    pub const fn cost(&self) -> usize {
        self.ring.cost()
    }

    /// The number of records.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ring.len()
    }

    /// True if the log holds no record.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ring.len() == 0
    }

    /// True if the log never had a record.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.ring.len() == 0 && self.ring.evicted().order == 0
    }

    /// The memory account that the records are charged to.
    #[must_use]
    pub const fn account(&self) -> &Arc<MemoryAccount> {
        &self.account
    }

    pub(crate) const fn evicted(&self) -> Evicted {
        self.ring.evicted()
    }

    pub(crate) fn run_after(&self, order: u64) -> Option<Run> {
        self.ring.run_after(order)
    }

    pub(crate) fn order_of_sequence(&self, sequence: u64) -> u64 {
        self.ring.order_of_sequence(sequence)
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;

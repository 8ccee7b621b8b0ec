//! Chunks, which are records that arrived together, and the parts of them that readers receive.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::account::{MemoryAccount, Reservation, charged};
use crate::batch::{Batch, RecordInfo};

/// Records up to this size are copied when they are shared, so that they do not keep a whole chunk alive. The copies are
/// not charged.
pub const COPIED: usize = 4 << 10;

/// The kind of a record, as defined by the writer. This crate does not interpret it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(pub u8);

/// The place of one record in its chunk. It is small, since a log holds tens of thousands of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// How many records of the chunk, up to and including this one, are numbered.
    pub(crate) numbered: u32,
    pub(crate) mark: u32,
    pub(crate) tag: Tag,
    pub(crate) is_numbered: bool,
}

impl Slot {
    /// The memory of a record besides its bytes, including its share of the chunk's own memory.
    const OVERHEAD: usize = 128;

    pub(crate) const fn cost(self) -> usize {
        (self.end - self.start) as usize + Self::OVERHEAD
    }

    pub(crate) const fn span(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The places of all records of a chunk. Chunks of client messages usually have one record, and then no
/// allocation is needed.
#[derive(Debug)]
enum Slots {
    One(Slot),
    Many(Box<[Slot]>),
}

/// Records that arrived together: one piece of memory, charged to the memory account for as long as anything
/// holds it.
#[derive(Debug)]
pub struct Chunk {
    pub(crate) bytes: Bytes,
    slots: Slots,
    at_ms: u64,
    first_order: u64,
    /// The sequence number of the last numbered record before this chunk.
    sequence_before: u64,
    /// The length of the longest record.
    longest: u32,
    derived: Derived,
    charge: Reservation,
}

/// The time of a chunk, and the numbers that it starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkNumbers {
    /// When the chunk's records were appended, in milliseconds since 1970.
    pub at_ms: u64,
    /// The order number of the chunk's first record.
    pub first_order: u64,
    /// The sequence number of the last numbered record before the chunk.
    pub sequence_before: u64,
}

/// Data that readers have computed from a chunk.
#[derive(Debug, Default)]
struct Derived {
    /// True once a reader has asked for derived data. Only the second request stores them.
    was_wanted: AtomicBool,
    kept: OnceLock<(Form, Bytes)>,
}

/// The name of one kind of data that readers derive from chunks, such as frames. It keeps different kinds of
/// readers from using each other's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form(pub &'static str);

impl Chunk {
    pub(crate) fn new(
        bytes: Bytes,
        slots: Vec<Slot>,
        numbers: ChunkNumbers,
        account: &Arc<MemoryAccount>,
    ) -> Self {
        let cost = slots.iter().map(|slot| slot.cost()).sum();
        Self::charged(bytes, slots, numbers, Reservation::unrefused(account, cost))
    }

    fn charged(bytes: Bytes, slots: Vec<Slot>, numbers: ChunkNumbers, charge: Reservation) -> Self {
        let longest = slots.iter().map(|slot| slot.end - slot.start).max().unwrap_or(0);
        let slots = match slots[..] {
            [one] => Slots::One(one),
            _ => Slots::Many(slots.into_boxed_slice()),
        };
        let ChunkNumbers { at_ms, first_order, sequence_before } = numbers;
        let derived = Derived::default();
        Self { bytes, slots, at_ms, first_order, sequence_before, longest, derived, charge }
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        match &self.slots {
            Slots::One(slot) => std::slice::from_ref(slot),
            Slots::Many(slots) => slots,
        }
    }

    pub(crate) const fn first_order(&self) -> u64 {
        self.first_order
    }

    pub(crate) fn last_order(&self) -> u64 {
        self.first_order + self.slots().len() as u64 - 1
    }

    pub(crate) const fn sequence_before(&self) -> u64 {
        self.sequence_before
    }

    pub(crate) fn record(&self, index: usize) -> Record<'_> {
        let slot = self.slots()[index];
        Record {
            order: self.first_order + index as u64,
            sequence: self.sequence_before + u64::from(slot.numbered),
            is_numbered: slot.is_numbered,
            at_ms: self.at_ms,
            tag: slot.tag,
            mark: slot.mark,
            bytes: &self.bytes[slot.span()],
        }
    }

    /// A copy of the chunk with only one of its records, which keeps its numbers.
    pub(crate) fn only(&self, index: usize, account: &Arc<MemoryAccount>) -> Self {
        let (slot, record) = (self.slots()[index], self.record(index));
        let numbered = u32::from(slot.is_numbered);
        let alone = Slot { start: 0, end: slot.end - slot.start, numbered, ..slot };
        let sequence_before = record.sequence - u64::from(numbered);
        let numbers = ChunkNumbers { at_ms: self.at_ms, first_order: record.order, sequence_before };
        Self::new(Bytes::copy_from_slice(record.bytes), vec![alone], numbers, account)
    }

    /// The log has evicted the chunk, but readers hold it.
    pub(crate) fn detach(&self) {
        self.charge.detach();
    }

    /// The memory of a chunk that nothing else holds.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

/// One record as readers receive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The record's order number: its place among the records of all logs.
    pub order: u64,
    /// The record's sequence number; if it has none, that of the last numbered record before it.
    pub sequence: u64,
    /// True if the sequence number is the record's own.
    pub is_numbered: bool,
    /// When the record was appended, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The kind of the record.
    pub tag: Tag,
    /// The number that the writer attached to the record.
    pub mark: u32,
    /// The content of the record.
    pub bytes: &'a [u8],
}

/// One or more consecutive records of one chunk. A run keeps the chunk's memory alive.
#[derive(Debug, Clone)]
pub struct Run {
    chunk: Arc<Chunk>,
    range: Range<usize>,
}

impl Run {
    pub(crate) fn new(chunk: Arc<Chunk>, range: Range<usize>) -> Self {
        debug_assert!(!range.is_empty() && range.end <= chunk.slots().len());
        Self { chunk, range }
    }

    /// Copies records into a new chunk under the numbers that they already have, for records that were
    /// appended to a log elsewhere. `None` if there are no records, or if they do not have the same time and
    /// consecutive numbers, as the records of a run have.
    #[must_use]
    pub fn from_records(records: &[Record<'_>], account: &Arc<MemoryAccount>) -> Option<Self> {
        let &Record { order: first_order, at_ms, sequence, is_numbered, .. } = records.first()?;
        let sequence_before = sequence.checked_sub(u64::from(is_numbered))?;
        let length = records.iter().map(|record| record.bytes.len()).sum();
        let mut batch = Batch::with_capacity(length, records.len());
        for &Record { tag, is_numbered, mark, bytes, .. } in records {
            batch.push(RecordInfo { tag, is_numbered, mark }, bytes);
        }
        let numbers = ChunkNumbers { at_ms, first_order, sequence_before };
        let chunk = Arc::new(Chunk::new(batch.bytes.freeze(), batch.slots, numbers, account));
        let run = Self::new(chunk, 0..records.len());
        run.records().eq(records.iter().copied()).then_some(run)
    }

    /// Makes a run of records from `bytes`, the concatenated bytes of all records, which their owner has already charged.
    /// Only the overhead of the records is charged to `account`. `None` if there are no records, or if the sum of
    /// their lengths is not the length of `bytes`.
    #[must_use]
    pub fn of_charged_bytes(
        bytes: Bytes,
        records: impl IntoIterator<Item = (RecordInfo, u32)>,
        numbers: ChunkNumbers,
        account: &Arc<MemoryAccount>,
    ) -> Option<Self> {
        let (mut slots, mut end, mut numbered) = (Vec::new(), 0_u32, 0);
        for (RecordInfo { tag, is_numbered, mark }, length) in records {
            let start = end;
            end = end.checked_add(length)?;
            numbered += u32::from(is_numbered);
            slots.push(Slot { start, end, numbered, mark, tag, is_numbered });
        }
        if slots.is_empty() || bytes.len() != end as usize {
            return None;
        }
        let charge = Reservation::unrefused(account, slots.len() * Slot::OVERHEAD);
        let range = 0..slots.len();
        Some(Self::new(Arc::new(Chunk::charged(bytes, slots, numbers, charge)), range))
    }

    /// The concatenated bytes of all records.
    #[must_use]
    pub fn concatenated(&self) -> &[u8] {
        let slots = &self.chunk.slots()[self.range.clone()];
        match (slots.first(), slots.last()) {
            (Some(first), Some(last)) => &self.chunk.bytes[first.start as usize..last.end as usize],
            _ => &[],
        }
    }

    /// Iterates over the records, in order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.range.clone().map(|index| self.chunk.record(index))
    }

    /// One of the records. `index` counts within the run.
    #[must_use]
    pub fn record(&self, index: usize) -> Record<'_> {
        self.chunk.record(self.range.start + index)
    }

    /// The number of records, at least one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Always false, since a run has at least one record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The first record.
    #[must_use]
    pub fn first(&self) -> Record<'_> {
        self.chunk.record(self.range.start)
    }

    /// The last record.
    #[must_use]
    pub fn last(&self) -> Record<'_> {
        self.chunk.record(self.range.end - 1)
    }

    /// The total size of the records in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.concatenated().len()
    }

    /// The length of the longest record of the whole chunk, which may have more records than this run.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.chunk.longest as usize
    }

    /// A part of the run. `range` is relative to the run and must not be empty.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Self {
        Self::new(Arc::clone(&self.chunk), self.range.start + range.start..self.range.start + range.end)
    }

    /// As many of the records from the first one on as have at most so many bytes together, but at least one.
    #[must_use]
    pub fn up_to(&self, bytes: usize) -> Self {
        let slots = &self.chunk.slots()[self.range.clone()];
        let start = slots.first().map_or(0, |slot| slot.start as usize);
        let count = slots.partition_point(|slot| slot.end as usize - start <= bytes);
        self.part(0..count.max(1))
    }

    /// One record's bytes, to be held beyond the run. A large record shares the chunk's memory, and the chunk stays
    /// charged for as long as the bytes are held. `index` counts within the run.
    #[must_use]
    pub fn share(&self, index: usize) -> Bytes {
        share(&self.chunk, self.range.start + index)
    }

    /// A form of the whole chunk that readers derive, such as its bytes with a frame around each record. The second
    /// reader that wants a form leaves it here for all that follow. It is charged to the account. `None` when the run
    /// is not the whole chunk, or when the chunk keeps another form.
    pub fn derived(
        &self,
        form: Form,
        account: &Arc<MemoryAccount>,
        derive: impl FnOnce() -> Bytes,
    ) -> Option<Bytes> {
        if self.range != (0..self.chunk.slots().len()) {
            return None;
        }
        let Derived { was_wanted, kept } = &self.chunk.derived;
        if let Some((kept_form, bytes)) = kept.get() {
            return (*kept_form == form).then(|| bytes.clone());
        }
        let bytes = charged(derive(), account);
        if was_wanted.swap(true, Ordering::Relaxed) {
            // Another reader may have been faster; its bytes are the same.
            let _ = kept.set((form, bytes.clone()));
        }
        Some(bytes)
    }
}

pub(crate) fn share(chunk: &Arc<Chunk>, index: usize) -> Bytes {
    let span = chunk.slots()[index].span();
    if span.len() <= COPIED {
        return Bytes::copy_from_slice(&chunk.bytes[span]);
    }
    Bytes::from_owner(Piece { chunk: Arc::clone(chunk), span })
}

/// A part of a chunk that keeps the chunk alive.
struct Piece {
    chunk: Arc<Chunk>,
    span: Range<usize>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.chunk.bytes[self.span.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(order: u64, sequence: u64, is_numbered: bool, bytes: &[u8]) -> Record<'_> {
        Record { order, sequence, is_numbered, at_ms: 9, tag: Tag(3), mark: 7, bytes }
    }

    #[test]
    fn a_run_of_records_from_elsewhere_keeps_their_numbers_and_bytes() {
        let account = MemoryAccount::new(0);
        let records = [record(17, 5, false, b"sent"), record(18, 6, true, b""), record(19, 7, true, b"said")];
        let run = Run::from_records(&records, &account).unwrap();
        assert!(run.records().eq(records));
        assert!(account.used() > 0);
        drop(run);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn a_run_is_cut_behind_the_records_that_fit_and_never_before_the_first() {
        let account = MemoryAccount::new(0);
        let records = [record(1, 1, true, b"123"), record(2, 2, true, b"45"), record(3, 3, true, b"6")];
        let run = Run::from_records(&records, &account).unwrap();
        let lengths = [0, 3, 4, 5, 100].map(|bytes| run.up_to(bytes).len());
        assert_eq!(lengths, [1, 1, 1, 2, 3]);
        assert_eq!(run.part(1..3).up_to(2).last().order, 2);
        assert_eq!(run.part(1..3).up_to(3).len(), 2);
    }

    #[test]
    fn records_that_do_not_follow_one_another_are_no_run() {
        let account = MemoryAccount::new(0);
        let first = record(17, 5, true, b"a");
        for second in [
            record(19, 6, true, b"b"),
            record(18, 7, true, b"b"),
            record(18, 6, false, b"b"),
            Record { at_ms: 10, ..record(18, 6, true, b"b") },
        ] {
            assert!(Run::from_records(&[first, second], &account).is_none(), "{second:?}");
        }
        assert!(Run::from_records(&[], &account).is_none());
        assert!(Run::from_records(&[record(1, 0, true, b"")], &account).is_none());
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn a_run_of_charged_bytes_shares_them() {
        let account = MemoryAccount::new(0);
        let numbers = ChunkNumbers { at_ms: 9, first_order: 17, sequence_before: 5 };
        let info = |is_numbered| RecordInfo { tag: Tag(3), is_numbered, mark: 7 };
        let of = |lengths: &[u32]| {
            let records = lengths.iter().map(|length| (info(*length > 2), *length)).collect::<Vec<_>>();
            Run::of_charged_bytes(Bytes::from_static(b"sentsaid"), records, numbers, &account)
        };
        let run = of(&[4, 0, 4]).unwrap();
        assert!(run.records().eq([
            record(17, 6, true, b"sent"),
            record(18, 6, false, b""),
            record(19, 7, true, b"said")
        ]));
        assert_eq!(run.part(1..3).concatenated(), b"said");
        assert_eq!(account.used(), 3 * Slot::OVERHEAD);
        drop(run);
        for lengths in [&[][..], &[4, 3], &[4, 5], &[4, u32::MAX, 4]] {
            assert!(of(lengths).is_none(), "{lengths:?}");
        }
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn a_part_of_a_run_is_a_run_of_its_own() {
        let account = MemoryAccount::new(0);
        let records = [record(17, 5, true, b"a"), record(18, 6, true, b"bcd"), record(19, 6, false, b"ef")];
        let run = Run::from_records(&records, &account).unwrap();
        assert_eq!((run.len(), run.is_empty(), run.bytes(), run.longest()), (3, false, 6, 3));
        assert_eq!(account.used(), 6 + 3 * Slot::OVERHEAD);
        let part = run.part(1..3);
        assert_eq!((part.first(), part.last(), part.record(1)), (records[1], records[2], records[2]));
        assert_eq!((part.len(), part.bytes(), part.share(0)), (2, 5, Bytes::from_static(b"bcd")));
        let last = part.part(1..2);
        assert_eq!((last.concatenated(), last.longest()), (&b"ef"[..], 3));
        assert_eq!(part.derived(Form("part"), &account, || Bytes::from_static(b"<bcd>")), None);
    }

    #[test]
    fn only_a_large_shared_record_keeps_its_chunk() {
        let account = MemoryAccount::new(0);
        let text = [b'x'; 4097];
        let records = [record(1, 1, true, &text[1..]), record(2, 2, true, &text)];
        let run = Run::from_records(&records, &account).unwrap();
        let (small, large) = (run.share(0), run.share(1));
        drop(run);
        assert_eq!((large.as_ref(), account.used()), (&text[..], 4096 + 4097 + 2 * Slot::OVERHEAD));
        drop(large);
        assert_eq!((small.as_ref(), account.used()), (&text[1..], 0));
    }

    #[test]
    fn a_copied_record_keeps_its_numbers() {
        let account = MemoryAccount::new(0);
        let records = [record(17, 5, true, b"a"), record(18, 6, true, b"bcd"), record(19, 6, false, b"ef")];
        let run = Run::from_records(&records, &account).unwrap();
        for (index, record) in records.into_iter().enumerate() {
            let only = run.chunk.only(index, &account);
            assert_eq!(
                (only.record(0), only.first_order(), only.last_order()),
                (record, record.order, record.order)
            );
        }
    }
}

//! Batches of records that are about to be appended to a log.

use bytes::BytesMut;

use crate::chunk::{Slot, Tag};

/// The properties of a record besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordInfo {
    /// The kind of the record, as defined by the writer.
    pub tag: Tag,
    /// True if the record gets a sequence number of its own.
    pub is_numbered: bool,
    /// A number that the writer may use for any purpose.
    pub mark: u32,
}

impl RecordInfo {
    /// A record with a sequence number of its own.
    #[must_use]
    pub const fn numbered(tag: Tag) -> Self {
        Self { tag, is_numbered: true, mark: 0 }
    }

    /// A record without a sequence number.
    #[must_use]
    pub const fn unnumbered(tag: Tag) -> Self {
        Self { tag, is_numbered: false, mark: 0 }
    }
}

/// Records that are appended together, in order. [`crate::Log::append`] turns them into one chunk.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) bytes: BytesMut,
    pub(crate) slots: Vec<Slot>,
    numbered: u32,
}

impl Batch {
    /// An empty batch with the given capacity. Unused capacity is held for as long as the chunk is.
    #[must_use]
    pub fn with_capacity(bytes: usize, records: usize) -> Self {
        Self::reusing(BytesMut::with_capacity(bytes), records)
    }

    pub(crate) fn reusing(memory: BytesMut, records: usize) -> Self {
        Self { bytes: memory, slots: Vec::with_capacity(records), numbered: 0 }
    }

    /// Appends a copy of a record. Returns the copy, so that it can be changed in place.
    pub fn push(&mut self, info: RecordInfo, bytes: &[u8]) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.numbered += u32::from(info.is_numbered);
        self.slots.push(Slot {
            start: offset(start),
            end: offset(self.bytes.len()),
            numbered: self.numbered,
            mark: info.mark,
            tag: info.tag,
            is_numbered: info.is_numbered,
        });
        &mut self.bytes[start..]
    }

    /// Takes over `memory` as the first record, without copying it. Only an empty batch can do that;
    /// otherwise the memory is returned, and the caller has to use [`Self::push`].
    ///
    /// # Errors
    /// The memory, if the batch is not empty.
    pub fn adopt(&mut self, info: RecordInfo, memory: BytesMut) -> Result<&mut [u8], BytesMut> {
        if !self.is_empty() {
            return Err(memory);
        }
        self.bytes = memory;
        self.numbered = u32::from(info.is_numbered);
        self.slots.push(Slot {
            start: 0,
            end: offset(self.bytes.len()),
            numbered: self.numbered,
            mark: info.mark,
            tag: info.tag,
            is_numbered: info.is_numbered,
        });
        Ok(&mut self.bytes)
    }

    /// Sets the mark of a record.
    pub fn set_mark(&mut self, index: usize, mark: u32) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.mark = mark;
        }
    }

    /// The bytes of a record.
    #[must_use]
    pub fn record(&self, index: usize) -> &[u8] {
        self.slots.get(index).map_or(&[], |slot| &self.bytes[slot.span()])
    }

    /// How many records up to and including this one are numbered.
    #[must_use]
    pub fn numbered_up_to(&self, index: usize) -> u64 {
        self.slots.get(index).map_or(0, |slot| u64::from(slot.numbered))
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many records fit without another allocation.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// True if the batch has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

/// Converts an offset. It cannot overflow: a batch is one read of a pipe or one message, both far below 4
/// GiB.
fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: RecordInfo = RecordInfo::numbered(Tag(3));

    #[test]
    fn a_batch_knows_its_records() {
        let mut batch = Batch::with_capacity(100, 5);
        assert!(batch.is_empty() && batch.capacity() >= 5 && batch.bytes.capacity() >= 100);
        batch.push(INFO, b"one").copy_from_slice(b"two");
        batch.push(RecordInfo::unnumbered(Tag(4)), b"note");
        batch.push(INFO, b"three");
        assert_eq!((batch.len(), batch.is_empty()), (3, false));
        assert_eq!([0, 1, 2, 3].map(|index| batch.record(index)), [&b"two"[..], b"note", b"three", b""]);
        assert_eq!([0, 1, 2, 3].map(|index| batch.numbered_up_to(index)), [1, 1, 2, 0]);
        batch.set_mark(1, 7);
        assert_eq!(batch.slots.iter().map(|slot| slot.mark).collect::<Vec<_>>(), [0, 7, 0]);
    }

    #[test]
    fn only_an_empty_batch_adopts_memory() {
        let memory = BytesMut::from(&b"first"[..]);
        let (mut batch, place) = (Batch::default(), memory.as_ptr());
        assert_eq!(batch.capacity(), 0);
        batch.adopt(INFO, memory).unwrap()[0] = b'F';
        assert_eq!(
            (batch.record(0), batch.record(0).as_ptr(), batch.numbered_up_to(0)),
            (&b"First"[..], place, 1)
        );
        assert_eq!(batch.adopt(INFO, BytesMut::from(&b"second"[..])).unwrap_err(), b"second"[..]);
        batch.push(INFO, b"third");
        assert_eq!((batch.record(1), batch.numbered_up_to(1)), (&b"third"[..], 2));
    }
}

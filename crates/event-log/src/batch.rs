//! Records on their way into a log.

use bytes::BytesMut;

use crate::chunk::{Slot, Tag};

/// What a record is, beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordInfo {
    /// The writer's name for the kind of record.
    pub tag: Tag,
    /// True when the record takes a sequence number of its own.
    pub is_numbered: bool,
    /// A number for the writer's own use.
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

/// Records that arrive together, in order. [`crate::Log::append`] makes one chunk of them.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) bytes: BytesMut,
    pub(crate) slots: Vec<Slot>,
    numbered: u32,
}

impl Batch {
    /// An empty batch with room for so much. What is reserved and not used is held for as long as the chunk is.
    #[must_use]
    pub fn with_capacity(bytes: usize, records: usize) -> Self {
        Self::reusing(BytesMut::with_capacity(bytes), records)
    }

    pub(crate) fn reusing(memory: BytesMut, records: usize) -> Self {
        Self { bytes: memory, slots: Vec::with_capacity(records), numbered: 0 }
    }

    /// Appends a copy of a record. Returns the copy, for changes in place.
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

    /// Makes a record of memory that has its bytes already, without a copy. Does nothing but return the memory when the
    /// batch has records: then the record has to be pushed.
    ///
    /// # Errors
    /// The memory, when the batch is not empty.
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

    /// Sets the mark of a record that was pushed.
    pub fn set_mark(&mut self, index: usize, mark: u32) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.mark = mark;
        }
    }

    /// The bytes of a record that was pushed.
    #[must_use]
    pub fn record(&self, index: usize) -> &[u8] {
        self.slots.get(index).map_or(&[], |slot| &self.bytes[slot.span()])
    }

    /// How many numbered records there are up to and including this one.
    #[must_use]
    pub fn numbered_up_to(&self, index: usize) -> u64 {
        self.slots.get(index).map_or(0, |slot| u64::from(slot.numbered))
    }

    /// How many records it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many records it has room for without another allocation.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// True when it has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

/// A batch is one read of a pipe or one message, both far below 4 GiB; see the limits of the writers.
fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

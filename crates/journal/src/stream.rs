//! A stream's state in memory, which its writer, its readers and retention share.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::catalogue::StreamRow;
use crate::options::SyncMode;
use crate::place::Place;
use crate::segment::Segment;

/// Identifies a stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    /// The name of the instance: 1 to 200 bytes, without `/` and control characters.
    pub name: Arc<str>,
    /// The sequence number of the stream's first numbered record, which may not be written yet. Streams with the same
    /// name differ in it.
    pub first_sequence: u64,
}

/// What is known about a stream without reading its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInfo {
    /// The stream's id.
    pub id: StreamId,
    /// The label that was passed to [`crate::Journal::create`].
    pub label: Bytes,
    /// True if the writer closed the stream, so that nobody can append to it.
    pub is_closed: bool,
    /// True if the stream has a writer now.
    pub has_writer: bool,
    /// The order number of the oldest record or note that is still held; 0 if there is none.
    pub first_order: u64,
    /// The order number of the last record or note that was ever appended; 0 if there was none.
    pub last_order: u64,
    /// The sequence number of the oldest numbered record that is still held; if there is none, that of the next one.
    pub oldest_sequence: u64,
    /// The sequence number of the last record of log 0. If that record has no number of its own, the number of the
    /// last record before it that has one.
    pub last_sequence: u64,
    /// True if the last record of log 0 has a sequence number of its own. Also true if log 0 has no record yet.
    pub last_is_numbered: bool,
    /// The time of the oldest record that is still held. Approximate: it may be the time when its segment was
    /// created.
    pub first_at_ms: u64,
    /// The time of the last record; if the newest segment has no record, the time when that segment was created.
    pub last_at_ms: u64,
    /// The total length of the stream's segments.
    pub bytes: u64,
}

/// A stream's state in memory.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    state: Mutex<State>,
}

/// The part of a stream's state that changes. Its lock is held only briefly, and never during disk access.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) label: Bytes,
    /// The stream's segments, oldest first.
    pub(crate) segments: Vec<Segment>,
    /// The newest segment, open for appending.
    pub(crate) file: Option<Arc<File>>,
    /// Finished segments that have not been synced to the disk yet.
    pub(crate) unsynced: Vec<Arc<File>>,
    /// True if the newest segment has bytes that have not been synced to the disk yet.
    pub(crate) is_dirty: bool,
    /// True if files were created since the directory was last synced.
    pub(crate) is_directory_dirty: bool,
    pub(crate) has_writer: bool,
    pub(crate) is_closed: bool,
    /// True if the stream was removed from the journal.
    pub(crate) is_removed: bool,
    /// True if the catalogue has the current data of this stream.
    pub(crate) is_catalogued: bool,
    /// The catalogue has the current data of all segments with a lower number.
    pub(crate) catalogued_before: u64,
    /// For how many rounds of the background thread nothing has been appended.
    pub(crate) idle_rounds: u8,
}

impl State {
    /// Call after every write to the newest segment.
    pub(crate) const fn note_write(&mut self, sync: SyncMode) {
        self.is_dirty = matches!(sync, SyncMode::EverySecond);
        self.idle_rounds = 0;
        self.is_catalogued = false;
    }

    fn info(&self, id: &StreamId) -> StreamInfo {
        let origin = Place::before(id.first_sequence);
        let (first, last) = (self.segments.first(), self.segments.last());
        let place = last.map_or(origin, |segment| segment.last);
        let first_order = self.segments.iter().map(|segment| segment.first_order).find(|order| *order != 0);
        StreamInfo {
            id: id.clone(),
            label: self.label.clone(),
            is_closed: self.is_closed,
            has_writer: self.has_writer,
            first_order: first_order.unwrap_or(0),
            last_order: place.order,
            oldest_sequence: first.map_or(origin, |segment| segment.previous).sequence.saturating_add(1),
            last_sequence: place.sequence,
            last_is_numbered: place.is_numbered,
            first_at_ms: first.map_or(0, |segment| segment.first_at_ms),
            last_at_ms: last.map_or(0, |segment| segment.last_at_ms),
            bytes: self.segments.iter().map(|segment| segment.length).sum(),
        }
    }

    /// The data that the catalogue does not have yet, if any. From now on, the data count as written.
    pub(crate) fn take_row(&mut self, id: &StreamId) -> Option<StreamRow> {
        if std::mem::replace(&mut self.is_catalogued, true) || self.is_removed {
            return None;
        }
        let from = std::mem::replace(&mut self.catalogued_before, self.segments.last()?.number);
        Some(StreamRow {
            info: self.info(id),
            oldest_number: self.segments.first()?.number,
            segments: self.segments.iter().filter(|segment| segment.number >= from).copied().collect(),
        })
    }

    /// Call if the data from `take_row` could not be written to the catalogue.
    pub(crate) const fn forget_catalogued(&mut self) {
        self.is_catalogued = false;
        self.catalogued_before = 0;
    }
}

impl Stream {
    pub(crate) const fn new(id: StreamId, label: Bytes, segments: Vec<Segment>, is_closed: bool) -> Self {
        let state = State {
            label,
            segments,
            file: None,
            unsynced: Vec::new(),
            is_dirty: false,
            is_directory_dirty: false,
            has_writer: false,
            is_closed,
            is_removed: false,
            is_catalogued: false,
            catalogued_before: 0,
            idle_rounds: 0,
        };
        Self { id, state: Mutex::new(state) }
    }

    /// Sets whether the catalogue already has the current data of this stream.
    pub(crate) fn catalogued(self, is_catalogued: bool) -> Self {
        let mut state = self.lock();
        state.is_catalogued = is_catalogued;
        drop(state);
        self
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics with a change half done, so a poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn info(&self) -> StreamInfo {
        self.lock().info(&self.id)
    }

    /// How many bytes the stream's segments occupy on the disk.
    pub(crate) fn on_disk(&self) -> u64 {
        self.lock().segments.iter().map(Segment::on_disk).sum()
    }

    /// An estimate of how many bytes of memory the stream occupies.
    pub(crate) fn memory(&self) -> usize {
        let state = self.lock();
        // The id is counted twice because the table of streams has a copy as its key. The constant is an estimate
        // of a table node and an `Arc`.
        size_of::<Self>()
            + 2 * size_of::<StreamId>()
            + self.id.name.len()
            + state.label.len()
            + state.segments.capacity() * size_of::<Segment>()
            + 64
    }
}

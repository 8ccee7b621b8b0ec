//! A stream: what its writer, its readers and retention share.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::options::SyncMode;
use crate::place::Place;
use crate::segment::Segment;

/// Names a stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    /// The name of the instance: 1 to 200 bytes, without `/` and control characters.
    pub name: Arc<str>,
    /// The sequence number of the first numbered record that the stream had or will have. It tells streams of one name
    /// apart.
    pub first_sequence: u64,
}

/// What is known of a stream without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInfo {
    /// Its id.
    pub id: StreamId,
    /// What its creator wrote on it.
    pub label: Bytes,
    /// True when it gets no more entries because its writer closed it.
    pub is_closed: bool,
    /// True when it has a writer.
    pub has_writer: bool,
    /// The order number of the first record or note that is held; 0 when there is none.
    pub first_order: u64,
    /// The order number of the last record or note that it ever had; 0 when there is none.
    pub last_order: u64,
    /// The sequence number of the first numbered record that is held, or that comes next.
    pub oldest_sequence: u64,
    /// The sequence number of the last record of log 0, or of the last numbered record before it.
    pub last_sequence: u64,
    /// True when the sequence number is that record's own. Also true where log 0 has no record yet.
    pub last_is_numbered: bool,
    /// The time of the first record that is held, or about that.
    pub first_at_ms: u64,
    /// The time of the last record, or that of the newest segment's creation where it has no records.
    pub last_at_ms: u64,
    /// How many bytes its segments have.
    pub bytes: u64,
}

/// The shared part of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    state: Mutex<State>,
}

/// What changes. Locked for moments, never while the disk works.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) label: Bytes,
    /// Oldest first.
    pub(crate) segments: Vec<Segment>,
    /// The newest segment, open for appending.
    pub(crate) file: Option<Arc<File>>,
    /// Segments that were finished and are not on the disk yet.
    pub(crate) unsynced: Vec<Arc<File>>,
    /// True when the newest segment has bytes that may not be on the disk yet.
    pub(crate) is_dirty: bool,
    /// True when files were created since the directory was synced.
    pub(crate) is_directory_dirty: bool,
    pub(crate) has_writer: bool,
    pub(crate) is_closed: bool,
    /// True when the stream was removed.
    pub(crate) is_removed: bool,
    /// For how many rounds of the background thread nothing was appended.
    pub(crate) idle_rounds: u8,
}

impl State {
    /// Something was written to the newest segment.
    pub(crate) const fn note_write(&mut self, sync: SyncMode) {
        self.is_dirty = matches!(sync, SyncMode::EverySecond);
        self.idle_rounds = 0;
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
            idle_rounds: 0,
        };
        Self { id, state: Mutex::new(state) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn info(&self) -> StreamInfo {
        let state = self.lock();
        let origin = Place::before(self.id.first_sequence);
        let (first, last) = (state.segments.first(), state.segments.last());
        let place = last.map_or(origin, |segment| segment.last);
        let first_order = state.segments.iter().map(|segment| segment.first_order).find(|order| *order != 0);
        StreamInfo {
            id: self.id.clone(),
            label: state.label.clone(),
            is_closed: state.is_closed,
            has_writer: state.has_writer,
            first_order: first_order.unwrap_or(0),
            last_order: place.order,
            oldest_sequence: first.map_or(origin, |segment| segment.previous).sequence + 1,
            last_sequence: place.sequence,
            last_is_numbered: place.is_numbered,
            first_at_ms: first.map_or(0, |segment| segment.first_at_ms),
            last_at_ms: last.map_or(0, |segment| segment.last_at_ms),
            bytes: state.segments.iter().map(|segment| segment.length).sum(),
        }
    }

    /// What its segments take on the disk.
    pub(crate) fn on_disk(&self) -> u64 {
        self.lock().segments.iter().map(Segment::on_disk).sum()
    }

    /// About what it takes in memory.
    pub(crate) fn memory(&self) -> usize {
        let state = self.lock();
        // Twice the id: the table has one of its own. The rest is what a node of the table and an `Arc` take.
        size_of::<Self>()
            + 2 * size_of::<StreamId>()
            + self.id.name.len()
            + state.label.len()
            + state.segments.capacity() * size_of::<Segment>()
            + 64
    }
}

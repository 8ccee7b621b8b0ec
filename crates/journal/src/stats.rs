//! The statistics of a journal.

use std::sync::atomic::{AtomicU64, Ordering};

/// The statistics of a journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// How many bytes all segments occupy on the disk, in whole blocks.
    pub bytes: u64,
    /// The number of streams, including those without a writer.
    pub streams: u64,
    /// The number of streams that have a writer.
    pub open_streams: u64,
    /// The number of segments of all streams.
    pub segments: u64,
    /// The number of segments that are open for writing.
    pub open_files: u64,
    /// An estimate of the memory that the tables of streams and segments occupy.
    pub memory_bytes: u64,
    /// When the last successful sync started, in milliseconds since 1970: everything appended before is on the
    /// disk. 0 if there was none yet.
    pub last_sync_at_ms: u64,
    /// How many appends, starts of segments, syncs and removals have failed.
    pub write_errors: u64,
}

/// The statistics that are updated when something happens; all others are computed on request.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) last_sync_at_ms: AtomicU64,
    pub(crate) write_errors: AtomicU64,
}

impl Counters {
    pub(crate) fn count_error(&self) {
        self.write_errors.fetch_add(1, Ordering::Relaxed);
    }
}

//! Figures about a journal.

use std::sync::atomic::{AtomicU64, Ordering};

/// Figures about a journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// What all segments take on the disk, in whole blocks.
    pub bytes: u64,
    /// Streams, open and past.
    pub streams: u64,
    /// Streams that have a writer.
    pub open_streams: u64,
    /// Segments of all streams.
    pub segments: u64,
    /// Segments that are open for writing.
    pub open_files: u64,
    /// About what the tables of streams and segments take in memory.
    pub memory_bytes: u64,
    /// When everything appended before was on the disk, in milliseconds since 1970; 0 before the first time.
    pub last_sync_at_ms: u64,
    /// Appends, new segments and syncs that failed.
    pub write_errors: u64,
}

/// What is counted as it happens.
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

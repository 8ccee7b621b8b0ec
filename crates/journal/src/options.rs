//! The options of a journal: its directory, its limits, and how durable appended records are.

use std::path::PathBuf;
use std::time::Duration;

/// The options of a journal.
#[derive(Debug, Clone)]
pub struct Options {
    /// The journal's directory. Created with mode 0700 if it does not exist.
    pub directory: PathBuf,
    /// The maximum number of bytes on disk per stream.
    pub max_bytes_per_stream: u64,
    /// The maximum number of bytes on disk of all streams together.
    pub max_bytes: u64,
    /// How long records are kept before retention deletes them.
    pub max_age: Duration,
    /// How durable an append is.
    pub sync: SyncMode,
    /// The size at which a segment is full and the writer should start the next one. An entry is never split, so a
    /// segment may be larger.
    pub segment_bytes: u64,
}

impl Options {
    /// The defaults: 256 MiB per stream, 1 GiB in all, 7 days, a sync every second.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let max_bytes_per_stream = 256 << 20;
        Self {
            directory: directory.into(),
            max_bytes_per_stream,
            max_bytes: 1 << 30,
            max_age: Duration::from_secs(7 * 24 * 60 * 60),
            sync: SyncMode::EverySecond,
            segment_bytes: Self::usual_segment_bytes(max_bytes_per_stream),
        }
    }

    /// The segment size for a limit per stream: a sixteenth of the limit, between 1 and 16 MiB. Retention deletes
    /// whole segments, so a stream at its limit should have several.
    #[must_use]
    pub fn usual_segment_bytes(max_bytes_per_stream: u64) -> u64 {
        (max_bytes_per_stream / 16).clamp(1 << 20, 16 << 20)
    }
}

/// What an append survives. It always survives a crash of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// A power failure loses at most about the last second of appends.
    EverySecond,
    /// A power failure loses nothing that was appended.
    Full,
}

//! What a journal may take, and how safe it is.

use std::path::PathBuf;
use std::time::Duration;

/// How a journal is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it is. The directory is created, mode 0700.
    pub directory: PathBuf,
    /// Most bytes of one stream.
    pub max_bytes_per_stream: u64,
    /// Most bytes of all streams.
    pub max_bytes: u64,
    /// How long records are kept.
    pub max_age: Duration,
    /// What an append survives.
    pub sync: SyncMode,
    /// At what size a segment is full. An entry is never divided, so a segment may be larger.
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

    /// A size of segments that fits a limit: retention unlinks whole segments, so there should be some.
    #[must_use]
    pub fn usual_segment_bytes(max_bytes_per_stream: u64) -> u64 {
        (max_bytes_per_stream / 16).clamp(1 << 20, 16 << 20)
    }
}

/// What an append survives. It always survives the death of every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// A loss of power costs at most about the last second.
    EverySecond,
    /// A loss of power costs nothing that was appended.
    Full,
}

//! Archives in and out: tar, plain or compressed.
//!
//! In: `input` decodes the stream, `tar_reader` parses it, `extract` drives it into a `staging` folder inside the target,
//! `links` judges every symbolic link once all are known, and `merge` moves the result over, entry by entry. A rejected
//! archive has touched nothing but its own staging folder, which is removed. Out: `build`.

mod build;
mod extract;
mod input;
mod links;
mod merge;
mod names;
mod pax;
mod reject;
mod staging;
mod tar_reader;

use std::path::PathBuf;

pub use build::ArchiveBuilder;
pub use reject::RejectReason;

/// How many paths the result of an upload lists.
pub const LISTED_PATHS: usize = 1024;

/// How a tar stream is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFormat {
    /// Not at all.
    Tar,
    /// With gzip.
    TarGzip,
    /// With Zstandard.
    TarZstd,
}

/// What one archive may unpack to. Unlimited by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArchiveLimits {
    /// Bytes of all files together.
    pub max_bytes: Option<u64>,
    /// Entries, directories that are only implied by names included.
    pub max_entries: Option<u64>,
}

/// What an uploaded archive became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    /// The directory it was unpacked into.
    pub target: PathBuf,
    /// The first [`LISTED_PATHS`] entries, in the archive's order.
    pub paths: Vec<PathBuf>,
    /// Whether there were more.
    pub truncated: bool,
    /// How many entries the archive had.
    pub count: u64,
}

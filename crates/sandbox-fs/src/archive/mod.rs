//! Unpacks and packs archives: tar, plain or compressed.
//!
//! To unpack, `input` decodes the stream, `tar_reader` parses it, `extract` writes it into a `staging` folder
//! inside the target, `links` checks every symbolic link once all are known, and `merge` moves the result into the
//! target, entry by entry. A rejected archive has touched nothing but its own staging folder, which is removed.
//! `build` packs.

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

/// The maximum number of paths in the result of an upload.
pub const LISTED_PATHS: usize = 1024;

/// How a tar stream is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFormat {
    /// Not compressed.
    Tar,
    /// With gzip.
    TarGzip,
    /// With Zstandard.
    TarZstd,
}

/// Limits on what one archive unpacks to. Unlimited by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArchiveLimits {
    /// The total size of all files.
    pub max_bytes: Option<u64>,
    /// The number of entries, including directories that are only implied by names.
    pub max_entries: Option<u64>,
}

/// The result of an unpacked archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    /// The directory it was unpacked into.
    pub target: PathBuf,
    /// The first [`LISTED_PATHS`] entries, in the archive's order.
    pub paths: Vec<PathBuf>,
    /// Whether there are more entries than `paths` lists.
    pub truncated: bool,
    /// The number of the archive's entries.
    pub count: u64,
}

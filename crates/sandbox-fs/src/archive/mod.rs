//! Unpacks and packs archives.
//!
//! To unpack, `tar_reader` (with `input`, which decompresses) or `zip_reader` turns the archive into entries.
//! `extract` writes them into a `staging` folder inside the target, `links` checks every symbolic link once
//! all links are known, and `merge` moves the result into the target, entry by entry. A rejected archive has
//! changed nothing but its own staging folder, which is removed. Uploads and installs differ only in their
//! [`ExtractOptions`]. `build` packs archives.

mod build;
mod entry;
mod extract;
mod input;
mod links;
mod merge;
mod names;
mod pax;
mod reject;
mod staging;
mod tar_reader;
mod zip_reader;

use std::path::PathBuf;

pub use build::ArchiveBuilder;
pub use extract::extract_file;
pub use reject::RejectReason;

/// The maximum number of paths in the result of an upload.
pub const LISTED_PATHS: usize = 1024;

/// How a tar stream of the file service is compressed, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFormat {
    /// Not compressed.
    Tar,
    /// With gzip.
    TarGzip,
    /// With Zstandard.
    TarZstd,
}

/// The kinds of archives that [`extract_file`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// tar, compressed with gzip.
    TarGzip,
    /// tar, compressed with bzip2.
    TarBzip2,
    /// tar, compressed with Zstandard.
    TarZstd,
    /// zip.
    Zip,
}

/// How an archive is unpacked. By default everything is restored as packed, without limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExtractOptions {
    /// Limits on the unpacked size.
    pub limits: ArchiveLimits,
    /// The number of leading components to drop from every name. Entries without further components are skipped.
    pub strip_components: usize,
    /// The modes and times of the unpacked entries.
    pub attributes: Attributes,
    /// How names with a backslash are treated.
    pub backslashes: Backslashes,
}

/// The modes and times of unpacked entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attributes {
    /// The modes and times in the archive, without set-id bits and without the bits that the umask removes.
    #[default]
    AsPacked,
    /// Files get mode 0644 plus the archive's execute bits and directories 0755, regardless of the umask. Times are
    /// not restored.
    Normalized,
}

/// How a name with a backslash is treated: on Unix it is an ordinary character, on other systems a separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backslashes {
    /// The backslash is part of the name.
    #[default]
    Allow,
    /// The archive is rejected.
    Refuse,
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
    /// The directory that the archive was unpacked into.
    pub target: PathBuf,
    /// The first [`LISTED_PATHS`] entries, in the archive's order.
    pub paths: Vec<PathBuf>,
    /// Whether there are more entries than `paths` lists.
    pub truncated: bool,
    /// The number of the archive's entries.
    pub count: u64,
}

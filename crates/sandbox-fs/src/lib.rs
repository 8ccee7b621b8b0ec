//! The file service: paths, confinement, atomic writes, moves, archives, watches. It contains no HTTP.
//!
//! A [`FileService`] is opened on a [`Root`] and is cheap to clone. Names are passed as [`UserPath`], which cannot
//! be empty and cannot contain a NUL; everything else about a path is decided by the kernel, never by comparing
//! strings.
//!
//! Every call blocks. Run each streaming call in one blocking task that is connected by a channel:
//!
//! | to serve | call | shape |
//! |---|---|---|
//! | a listing | [`FileService::entries`] | sorted page, [`ContinuationToken`] for the next one |
//! | one entry | [`FileService::stat`] | the link itself for a symbolic link |
//! | a download | [`FileService::open_file`] -> [`FileReader`] | `metadata`, then `range` -> chunks |
//! | an upload | [`FileService::begin_write`] -> [`AtomicWriter`] | `write_chunk`\*, then `commit`; dropping it discards the upload |
//! | a removal, a folder, a move | [`FileService::remove`], [`FileService::make_directory`], [`FileService::move_entry`] | one call |
//! | an archive in | [`FileService::extract_archive`] | fed by a [`std::io::Read`] |
//! | an archive file, without a service | [`extract_file`] | tar or zip, as [`ExtractOptions`] say |
//! | an archive out | [`FileService::open_archive`] -> [`ArchiveBuilder`] | written to a [`std::io::Write`] |
//! | changes | [`FileService::watch`] -> [`Watcher`] | `next` with a timeout; reports an overflow |
//!
//! Paths are opened in one place: every path is split into its parent directory and a last name, and the parent is
//! opened relative to the root (by cap-std below a confined root: with `openat2`, or component by component where
//! that call is denied). From then on only single names are used on that handle, without following links.
//! `/proc/self/fd` is never needed.
//!
//! What is deliberately absent: HTTP types, async, JSON, and any cache of file contents.

mod archive;
mod attributes;
mod copy;
mod created;
mod entries;
mod error;
mod etag;
mod locks;
mod metadata;
mod path;
mod reader;
mod relocate;
mod remove;
mod root;
mod service;
mod sys;
mod temporaries;
mod timestamp;
mod token;
mod walk;
mod watch;
mod writer;

pub use archive::{
    ArchiveBuilder, ArchiveFormat, ArchiveLimits, Attributes, Backslashes, ExtractOptions, Extracted,
    FileFormat, LISTED_PATHS, RejectReason, extract_file,
};
pub use entries::{Depth, EntriesRequest, Entry, Page};
pub use error::{Error, Result};
pub use etag::ETag;
pub use metadata::{EntryType, Metadata};
pub use path::UserPath;
pub use reader::{CHUNK_BYTES, FileReader, Length, RangeReader};
pub use relocate::{Moved, Overwrite};
pub use remove::Recursion;
pub use root::Root;
pub use service::{Durability, FileService, Options};
pub use timestamp::Timestamp;
pub use token::ContinuationToken;
pub use watch::{Change, WatchOptions, Watcher};
pub use writer::{AtomicWriter, Atomicity, Precondition, WriteOptions, WriteOutcome};

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

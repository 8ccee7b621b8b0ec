//! The file service: paths, confinement, atomic writes, moves, archives, watches. No HTTP in it.
//!
//! A [`FileService`] is opened over a [`Root`] and is cheap to clone. Names arrive as [`UserPath`], which cannot be
//! empty and cannot hold a NUL; everything else about a path is decided by the kernel, never by comparing strings.
//!
//! Every call blocks. The streaming ones are made to be driven from one blocking task that is fed by a channel:
//!
//! | to serve | call | shape |
//! |---|---|---|
//! | a listing | [`FileService::entries`] | sorted page, [`ContinuationToken`] for the next one |
//! | one entry | [`FileService::stat`] | the link itself for a symbolic link |
//! | a download | [`FileService::open_file`] -> [`FileReader`] | `metadata`, then `range` -> chunks |
//! | an upload | [`FileService::begin_write`] -> [`AtomicWriter`] | `write_chunk`\*, then `commit`; a drop undoes |
//! | a removal, a folder, a move | [`FileService::remove`], [`FileService::make_directory`], [`FileService::move_entry`] | one call |
//! | an archive in | [`FileService::extract_archive`] | fed by a [`std::io::Read`] |
//! | an archive out | [`FileService::open_archive`] -> [`ArchiveBuilder`] | written to a [`std::io::Write`] |
//! | changes | [`FileService::watch`] -> [`Watcher`] | `next` with a timeout; overflow is told |
//!
//! Confinement has one door: every path is split into its parent directory and a last name, the parent is opened by
//! the root's anchor (cap-std below a root: `openat2`, or its walk by hand where that is denied), and from then on only
//! single names are used on that handle, never following a link. `/proc/self/fd` is never needed.
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
mod timestamp;
mod token;
mod walk;
mod watch;
mod writer;

pub use archive::{ArchiveBuilder, ArchiveFormat, ArchiveLimits, Extracted, LISTED_PATHS, RejectReason};
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

//! Keeps event logs in append-only segment files.
//!
//! A **stream** is the journal of one instance: the records of two logs (log 0: what the agent says, log 1: what
//! clients send) and the instance's own notes, in one order. One [`StreamWriter`] writes the stream, any number of
//! [`StreamReader`]s read it, and a reader never sees a record before [`StreamWriter::append`] has written it. On
//! disk, a stream is a directory of files, its **segments**; retention deletes whole segments. Where records are
//! missing, a reader receives a [`Found::Gap`].
//!
//! After a restart, everything is known from the files alone. The README of this crate describes their format byte
//! by byte.
//!
//! The crate uses no JSON, no HTTP and no async runtime. Every call may block on the disk.

mod background;
mod blocks;
mod catalogue;
mod chunks;
mod encode;
mod error;
mod format;
#[cfg(fuzzing)]
pub mod fuzzing;
mod journal;
mod options;
mod place;
mod reader;
mod recover;
mod resume;
mod retention;
mod scan;
mod segment;
mod stats;
mod stream;
mod writer;

pub use crate::encode::Entry;
pub use crate::error::{OpenError, SetAside};
pub use crate::journal::{Journal, Opened};
pub use crate::options::{Options, SyncMode};
pub use crate::place::Place;
pub use crate::reader::{Found, StreamReader};
pub use crate::resume::{Replay, Resumed};
pub use crate::stats::JournalStats;
pub use crate::stream::{StreamId, StreamInfo};
pub use crate::writer::StreamWriter;

/// The number of the log of what the agent says. Its sequence numbers are those of the stream.
pub const OUTPUT_LOG: u8 = 0;

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

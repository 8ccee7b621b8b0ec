//! Keeps event logs in append-only segment files.
//!
//! A **stream** is the journal of one instance: the records of two logs (log 0: what the agent says, log 1: what clients
//! send) and the instance's own notes, in one order. It is written by one [`StreamWriter`] and read by any number of
//! [`StreamReader`]s, which never see anything before [`StreamWriter::append`] has written it. A stream is a directory of
//! **segments**, and retention unlinks whole segments. A reader receives a [`Found::Gap`] where something is missing.
//!
//! The files are the truth. Their format is described byte by byte in the README of this crate.
//!
//! The crate knows no JSON, no HTTP and no async runtime. Everything in it may block on the disk.

mod background;
mod blocks;
mod chunks;
mod encode;
mod error;
mod format;
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

/// The log of a stream whose sequence numbers are the stream's: what the agent says.
pub const OUTPUT_LOG: u8 = 0;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

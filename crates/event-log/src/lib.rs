//! Numbered records in memory, readers with cursors, and one account for the memory that they take.
//!
//! A [`Log`] holds the newest records of one source. It is bounded by bytes and by count, and evicts the
//! oldest records first. Records are opaque bytes with a [`Tag`]: this crate knows no JSON and no HTTP, and
//! never looks into a record.
//!
//! Every record has two numbers:
//!
//! - its **sequence number**, which counts the numbered records of its own log;
//! - its **order number**, drawn from an [`OrderCounter`] that many logs share. It puts the records of all of them into
//!   one order.
//!
//! Records that arrive together form one [`Chunk`]: one piece of memory, one time stamp, consecutive order
//! numbers. So the cost of a flood depends on the number of reads, not on the number of records. A [`Reader`]
//! walks one or more logs with a cursor of its own. It receives [`Run`]s, which share the chunk's memory, or
//! a [`Gap`] if records that it has not seen were evicted. No reader waits for another, and none slows down
//! the writer.
//!
//! ```
//! use std::sync::Arc;
//! use event_log::{Log, MemoryAccount, OrderCounter, Read, Reader, RecordInfo, Retention, Tag};
//!
//! let account = MemoryAccount::new(1 << 20);
//! let retention = Retention { max_bytes: 1 << 16, max_records: 2 };
//! let mut log = Log::new(1, Arc::new(OrderCounter::starting_at(1)), account, retention);
//! let mut reader = Reader::at_oldest(&[&log]);
//! for text in ["one", "two", "three"] {
//!     let mut batch = log.batch(text.len(), 1);
//!     batch.push(RecordInfo::numbered(Tag(0)), text.as_bytes());
//!     log.append(batch, 0, |_evicted| {});
//! }
//! // The log holds two records, so the reader has lost the first.
//! let Read::Gap(gap) = reader.read(&[&log], u64::MAX) else { panic!() };
//! assert_eq!((gap.after_sequence, gap.next_sequence), (0, 2));
//! let Read::Run(run) = reader.read(&[&log], u64::MAX) else { panic!() };
//! assert_eq!(run.records().next().unwrap().bytes, b"two");
//! ```

mod account;
mod batch;
mod chunk;
mod log;
mod order;
mod reader;
mod ring;

pub use account::{MemoryAccount, Reservation, charged};
pub use batch::{Batch, RecordInfo};
pub use chunk::{COPIED, Chunk, ChunkNumbers, Form, Record, Run, Tag};
pub use log::{Log, Past, Retention};
pub use order::OrderCounter;
pub use reader::{Gap, Read, Reader};

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

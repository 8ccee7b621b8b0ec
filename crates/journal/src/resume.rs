//! What an earlier server has left of a stream.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use event_log::MemoryAccount;

use crate::chunks::{Read, read_entries};
use crate::encode::Entry;
use crate::error::corrupt;
use crate::segment::{Segment, file_name};
use crate::writer::StreamWriter;

/// A stream of an earlier server, ready to go on.
#[derive(Debug)]
pub struct Resumed {
    /// Goes on behind the last entry.
    pub writer: StreamWriter,
    /// The newest checkpoint. `None` when the stream has none: then the replay starts with the first entry.
    pub checkpoint: Option<Bytes>,
    /// The entries behind the checkpoint. It can be read before or after the writer goes on: it ends where the stream
    /// ended when it was resumed.
    pub replay: Replay,
}

/// How much is read at a time.
const BLOCK: usize = 256 << 10;

/// Entries of a stream, in order. Holds one block of them in memory at a time.
#[derive(Debug)]
pub struct Replay {
    directory: PathBuf,
    /// Segments that are not open yet.
    segments: VecDeque<Segment>,
    present: Option<(File, u64, u64)>,
    entries: std::vec::IntoIter<Entry>,
    account: Arc<MemoryAccount>,
}

impl Replay {
    pub(crate) fn new(directory: PathBuf, segments: VecDeque<Segment>, account: Arc<MemoryAccount>) -> Self {
        Self { directory, segments, present: None, entries: Vec::new().into_iter(), account }
    }

    fn read(&mut self) -> io::Result<Option<Entry>> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Ok(Some(entry));
            }
            match &mut self.present {
                Some((file, at, end)) if *at < *end => {
                    match read_entries(file, *at, *end, BLOCK, &self.account)? {
                        Read::Entries(entries, next) => (*at, self.entries) = (next, entries.into_iter()),
                        Read::Damaged => return Err(corrupt("a segment of the journal is damaged")),
                    }
                }
                _ => {
                    let Some(segment) = self.segments.pop_front() else { return Ok(None) };
                    let file = File::open(self.directory.join(file_name(segment.number)))?;
                    self.present = Some((file, u64::from(segment.start), segment.length));
                }
            }
        }
    }
}

impl Iterator for Replay {
    type Item = io::Result<Entry>;

    /// After an error there is nothing more.
    fn next(&mut self) -> Option<io::Result<Entry>> {
        let next = self.read();
        if next.is_err() {
            self.segments.clear();
            self.present = None;
        }
        next.transpose()
    }
}

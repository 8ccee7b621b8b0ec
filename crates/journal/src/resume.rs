//! What [`crate::Journal::resume`] returns: a writer, the newest checkpoint, and the entries after it.

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

/// A stream of an earlier server, ready to be continued.
#[derive(Debug)]
pub struct Resumed {
    /// The writer, which continues after the last entry.
    pub writer: StreamWriter,
    /// The newest checkpoint. `None` if the stream has no checkpoint; in this case the replay starts with the first
    /// entry.
    pub checkpoint: Option<Bytes>,
    /// The entries after the checkpoint, up to the end of the stream when it was resumed. So it does not matter
    /// whether the writer appends before or after they are read.
    pub replay: Replay,
}

/// How many bytes are read at a time.
const BLOCK: usize = 256 << 10;

/// Iterates over entries of a stream, in order, with one block of them in memory at a time.
#[derive(Debug)]
pub struct Replay {
    directory: PathBuf,
    /// Segments that have not been opened yet.
    segments: VecDeque<Segment>,
    /// The segment that is being read: its file, the offset of the next entry, and the end.
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

    /// The next entry. After an error, always `None`.
    fn next(&mut self) -> Option<io::Result<Entry>> {
        let next = self.read();
        if next.is_err() {
            self.segments.clear();
            self.present = None;
        }
        next.transpose()
    }
}

//! Reads a whole segment and determines how much of it can be served.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;

use crate::blocks::{At, Blocks};
use crate::encode::follows;
use crate::format::{EntryHead, HEADER, Head, HeaderError, SegmentHeader};
use crate::segment::Segment;

/// The result of [`scan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) label: Bytes,
    pub(crate) segment: Segment,
    /// True if the last entry is the mark that closes the stream.
    pub(crate) is_closed: bool,
    /// True if the segment starts with a checkpoint.
    pub(crate) has_checkpoint: bool,
    /// What follows the last complete entry.
    pub(crate) tail: Tail,
}

/// What follows the last complete entry of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    Nothing,
    /// An entry that was not written completely, as after a crash.
    Torn,
    /// Damage that a crash cannot cause. Holds the reason.
    Corrupt(&'static str),
}

/// Why a file cannot be served at all.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// The header was not written completely.
    Torn,
    Corrupt(&'static str),
    Newer(u16),
    Io(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads a segment's header and passes it to `then`.
pub(crate) fn with_header<T>(
    file: &File,
    size: u64,
    then: impl FnOnce(&SegmentHeader<'_>) -> T,
) -> Result<T, Unusable> {
    let mut bytes = Vec::new();
    let mut wanted = 4 * HEADER;
    loop {
        bytes.resize(usize::try_from(size).unwrap_or(usize::MAX).min(wanted), 0);
        file.read_exact_at(&mut bytes, 0)?;
        match SegmentHeader::decode(&bytes) {
            Ok(header) => return Ok(then(&header)),
            Err(HeaderError::Short(needed)) if needed > wanted => wanted = needed,
            Err(HeaderError::Short(_)) => return Err(Unusable::Torn),
            Err(HeaderError::Newer(version)) => return Err(Unusable::Newer(version)),
            Err(HeaderError::NotASegment) => return Err(Unusable::Corrupt("it is not a segment")),
            Err(HeaderError::Corrupt) => return Err(Unusable::Corrupt("its header is damaged")),
        }
    }
}

/// Reads a whole segment and checks every checksum.
pub(crate) fn scan(file: &File, size: u64) -> Result<Scanned, Unusable> {
    let mut scanned = with_header(file, size, |header| Scanned {
        label: Bytes::copy_from_slice(header.label),
        segment: Segment {
            number: header.number,
            previous: header.previous,
            last: header.previous,
            first_order: 0,
            first_at_ms: header.created_at_ms,
            last_at_ms: header.created_at_ms,
            length: header.length() as u64,
            start: header.length() as u32,
        },
        is_closed: false,
        has_checkpoint: false,
        tail: Tail::Nothing,
    })?;
    let mut blocks = Blocks::new(file, scanned.segment.length, size);
    let tail = loop {
        match blocks.next()? {
            At::End => break Tail::Nothing,
            At::Bad => break what_follows(&mut blocks, size)?,
            At::Entry(entry) if !blocks.is_whole(&entry)? => break what_follows(&mut blocks, size)?,
            At::Entry(entry) if !follows(&entry.head, scanned.segment.last) => {
                break Tail::Corrupt("its order numbers go back");
            }
            At::Entry(entry) => {
                scanned.add(&entry, blocks.position());
                blocks.skip(&entry);
            }
        }
    };
    Ok(Scanned { tail, ..scanned })
}

impl Scanned {
    fn add(&mut self, entry: &EntryHead, at: u64) {
        self.is_closed = entry.head == Head::Closed;
        self.has_checkpoint |= at == u64::from(self.segment.start) && entry.head == Head::Checkpoint;
        self.segment.add(&entry.head, entry.total);
    }
}

/// How many bytes of possible entries are checked, at most, in the search for an entry after a damaged one.
const SEARCH: u64 = 64 << 20;
/// What looking at a possible entry costs in addition to its own bytes, since a block has to be read again.
const SEARCH_STEP: u64 = 64 << 10;

/// Decides what invalid bytes at the current position are. A crash leaves one entry that was not written
/// completely, or zeros. So if a complete entry follows the invalid bytes, a crash cannot be the cause.
fn what_follows(blocks: &mut Blocks<'_>, size: u64) -> io::Result<Tail> {
    let mut budget = SEARCH;
    for at in blocks.position() + 1..size {
        blocks.seek(at);
        if let At::Entry(entry) = blocks.next()? {
            budget = budget.saturating_sub(entry.total as u64 + SEARCH_STEP);
            if budget == 0 || blocks.is_whole(&entry)? {
                return Ok(Tail::Corrupt("an entry is damaged"));
            }
        }
    }
    Ok(Tail::Torn)
}

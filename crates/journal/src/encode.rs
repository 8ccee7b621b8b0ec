//! Encodes entries and writes them to a segment.

use std::io::{self, IoSlice, Write};

use bytes::Bytes;
use event_log::Run;

use crate::format::{Head, MAX_ENTRY, RecordsHead, SLOT, seal};
use crate::place::Place;

/// An entry to append to a stream.
#[derive(Debug, Clone)]
pub enum Entry {
    /// Records of one of the stream's logs.
    Records {
        /// The number of the log. The sequence numbers of log 0 are those of the stream.
        log: u8,
        /// The records.
        run: Run,
        /// A number that only the writer uses: the position in the records' source up to which the writer has read it.
        stream_offset: u64,
    },
    /// Data that only the writer uses, when it resumes the stream.
    Note {
        /// The kind of the note. The writer defines what the numbers mean.
        tag: u8,
        /// The note's order number: at least that of the entry before.
        order: u64,
        /// The contents of the note.
        bytes: Bytes,
    },
}

impl Entry {
    pub(crate) fn head(&self) -> Head {
        match self {
            Self::Records { log, run, stream_offset } => {
                let (first, last) = (run.first(), run.last());
                let sequence_before = first.sequence.saturating_sub(u64::from(first.is_numbered));
                Head::Records(RecordsHead {
                    log: *log,
                    last_is_numbered: last.is_numbered,
                    first_order: first.order,
                    sequence_before,
                    at_ms: first.at_ms,
                    stream_offset: *stream_offset,
                    count: narrow(run.len()),
                    numbered: u32::try_from(last.sequence - sequence_before).unwrap_or(u32::MAX),
                })
            }
            Self::Note { tag, order, .. } => Head::Note { tag: *tag, order: *order },
        }
    }

    fn payload(&self) -> &[u8] {
        match self {
            Self::Records { run, .. } => run.concatenated(),
            Self::Note { bytes, .. } => bytes,
        }
    }
}

/// Encodes the heads of the entries of one append, in memory that is reused.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    heads: Vec<u8>,
    /// The end of each entry's head and slots in `heads`.
    ends: Vec<usize>,
}

/// The encoder keeps at most this much memory between two appends, in bytes.
const MAX_KEPT_BYTES: usize = 64 << 10;
/// Up to this many slices are kept on the stack, without an allocation.
const SLICES_ON_STACK: usize = 16;

impl Encoder {
    /// Encodes the heads of entries that follow `place`. Returns the size of the entries and the place after them.
    pub(crate) fn encode(&mut self, entries: &[Entry], mut place: Place) -> io::Result<(u64, Place)> {
        self.heads.clear();
        self.heads.shrink_to(MAX_KEPT_BYTES);
        self.ends.clear();
        self.ends.shrink_to(MAX_KEPT_BYTES / size_of::<usize>());
        let mut length = 0;
        for entry in entries {
            let (head, payload) = (entry.head(), entry.payload());
            if head.length() + head.slots() + payload.len() > MAX_ENTRY {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the entry is too long for the journal",
                ));
            }
            if !follows(&head, place) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the entry's order number is not after the last",
                ));
            }
            let start = self.heads.len();
            head.encode(&mut self.heads);
            if let Entry::Records { run, .. } = entry {
                self.heads.reserve(head.slots());
                for record in run.records() {
                    self.heads.extend_from_slice(&slot(
                        record.tag.0,
                        record.is_numbered,
                        record.mark,
                        record.bytes,
                    ));
                }
            }
            seal(&mut self.heads, start, payload);
            self.ends.push(self.heads.len());
            length += payload.len();
            place = head.advance(place);
        }
        Ok(((length + self.heads.len()) as u64, place))
    }

    /// Writes the entries that were passed to `encode`: with one system call, unless the system accepts only a part.
    pub(crate) fn write(&self, entries: &[Entry], file: impl Write) -> io::Result<()> {
        let mut few = [IoSlice::new(&[]); SLICES_ON_STACK];
        let mut many = Vec::new();
        let slices = if entries.len() * 2 <= SLICES_ON_STACK {
            &mut few[..entries.len() * 2]
        } else {
            many.resize(entries.len() * 2, IoSlice::new(&[]));
            &mut many[..]
        };
        let mut start = 0;
        for ((pair, entry), end) in slices.chunks_exact_mut(2).zip(entries).zip(&self.ends) {
            pair[0] = IoSlice::new(&self.heads[start..*end]);
            pair[1] = IoSlice::new(entry.payload());
            start = *end;
        }
        write_all(file, slices)
    }
}

/// True if the order number of an entry with this head is high enough for this place.
pub(crate) const fn follows(head: &Head, place: Place) -> bool {
    match *head {
        Head::Records(ref head) => head.first_order > place.order,
        Head::Note { order, .. } => order >= place.order,
        Head::Checkpoint | Head::Closed => true,
    }
}

/// Writes all slices, as many as possible with each call.
pub(crate) fn write_all(mut file: impl Write, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn slot(tag: u8, is_numbered: bool, mark: u32, bytes: &[u8]) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    slot[0] = tag;
    slot[1] = u8::from(is_numbered);
    slot[2..6].copy_from_slice(&mark.to_le_bytes());
    slot[6..].copy_from_slice(&narrow(bytes.len()).to_le_bytes());
    slot
}

/// Converts a length to 32 bits. Lengths of 4 GiB and more do not occur, since such entries are refused.
fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts a few bytes per write. Every other write fails because it was interrupted.
    struct Slow(Vec<u8>, bool);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let accepted = bytes.len().min(3);
            self.0.extend_from_slice(&bytes[..accepted]);
            Ok(accepted)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_write_continues_after_the_system_accepted_a_part() {
        let mut slow = Slow(Vec::new(), false);
        let mut slices = [&b""[..], b"one", b"", b"two, longer", b""].map(IoSlice::new);
        write_all(&mut slow, &mut slices).unwrap();
        assert_eq!(slow.0, b"onetwo, longer");
        assert!(write_all(&mut [0; 4][..], &mut [IoSlice::new(b"too long")]).is_err());
    }
}

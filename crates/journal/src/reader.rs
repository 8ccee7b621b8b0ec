//! Reads a stream. Each reader has its own place in it.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use event_log::{MemoryAccount, Run};

use crate::OUTPUT_LOG;
use crate::blocks::{At, Blocks};
use crate::chunks::{Read, count_seen, read_entries};
use crate::encode::Entry;
use crate::format::Head;
use crate::journal::Journal;
use crate::place::Place;
use crate::segment::Segment;
use crate::stream::Stream;

/// What a reader gets.
#[derive(Debug, Clone)]
pub enum Found {
    /// Records of one of the logs.
    Records {
        /// The number of the log.
        log: u8,
        /// The records.
        run: Run,
    },
    /// A note.
    Note {
        /// The kind of the note. The writer defines what the numbers mean.
        tag: u8,
        /// The note's order number.
        order: u64,
        /// The contents of the note.
        bytes: Bytes,
    },
    /// Records or notes after the reader's place are missing: retention deleted them, they are damaged, or they were
    /// never written.
    Gap {
        /// The order number of the last record or note that the reader has returned.
        after_order: u64,
        /// The sequence number of the last numbered record that the reader has returned; 0 if it is not known.
        after_sequence: u64,
        /// The order number of the next record or note that is held; 0 if there is none yet.
        next_order: u64,
        /// The sequence number of the next numbered record that is held; if there is none yet, that of the next to be
        /// appended.
        next_sequence: u64,
    },
}

/// Reads a stream, independently of its writer and of other readers. A new reader starts at the oldest record. A
/// reader has no file open between calls.
#[derive(Debug)]
pub struct StreamReader {
    journal: Journal,
    stream: Arc<Stream>,
    /// The number of the reader's segment. If the reader is between segments, the least number that the next may
    /// have.
    segment: u64,
    /// The offset of the next entry in the segment; `None` between segments.
    offset: Option<u64>,
    /// The place after the last record or note that was returned.
    seen: Place,
    /// Records and notes up to this order number are skipped.
    skip: u64,
}

impl StreamReader {
    pub(crate) fn new(journal: Journal, stream: Arc<Stream>) -> Self {
        let seen = Place::before(stream.id.first_sequence);
        let mut reader = Self { journal, stream, segment: 0, offset: None, seen, skip: 0 };
        reader.rewind();
        reader
    }

    /// Moves to the oldest record.
    fn rewind(&mut self) {
        let first = self.stream.lock().segments.first().copied();
        self.seen = Place::before(self.stream.id.first_sequence);
        (self.segment, self.offset, self.skip) = (0, None, 0);
        if let Some(first) = first {
            self.seen = first.previous;
        }
    }

    /// Moves to the place after an order number; with 0, to the oldest record. If the records right after that place
    /// are not held any more, the next read returns a gap first.
    ///
    /// # Errors
    /// System errors. The reader has not moved.
    pub fn seek_after_order(&mut self, order: u64) -> io::Result<()> {
        if order == 0 {
            self.rewind();
            return Ok(());
        }
        let candidate = {
            let state = self.stream.lock();
            let behind = state.segments.partition_point(|segment| segment.previous.order <= order);
            behind.checked_sub(1).map(|index| state.segments[index])
        };
        let Some(segment) = candidate else {
            // The place is before the oldest segment: its sequence number is unknown, and the next read finds the
            // gap.
            let seen = Place { order, sequence: 0, is_numbered: true };
            (self.segment, self.offset, self.seen, self.skip) = (0, None, seen, order);
            return Ok(());
        };
        let (mut offset, mut seen) = (segment.length, Place { order, ..segment.last });
        if segment.last.order > order {
            let Some(file) = self.open(&segment)? else {
                if !self.is_known(&segment) {
                    return self.seek_after_order(order);
                }
                // The file is missing. The next read reports it as a gap.
                let seen = Place { order, sequence: 0, is_numbered: true };
                let start = u64::from(segment.start);
                (self.segment, self.offset, self.seen, self.skip) =
                    (segment.number, Some(start), seen, order);
                return Ok(());
            };
            let mut blocks = Blocks::new(&file, u64::from(segment.start), segment.length);
            seen = segment.previous;
            while let At::Entry(entry) = blocks.next()? {
                let behind = entry.head.advance(seen);
                if behind.order > order {
                    break;
                }
                seen = behind;
                blocks.skip(&entry);
            }
            offset = blocks.position();
            seen.order = order;
        }
        (self.segment, self.offset, self.seen, self.skip) = (segment.number, Some(offset), seen, order);
        Ok(())
    }

    /// The order number with which [`StreamReader::seek_after_order`] continues after a sequence number: that of the
    /// newest record of log 0 that a reader has seen if it has seen everything up to `sequence`. `None` if the records
    /// right after it were removed or never written. Does not move the reader.
    ///
    /// # Errors
    /// System errors.
    pub fn order_of_sequence(&mut self, sequence: u64) -> io::Result<Option<u64>> {
        let (segment, next) = {
            let state = self.stream.lock();
            let (Some(first), Some(last)) = (state.segments.first(), state.segments.last()) else {
                return Ok(None);
            };
            let is_before = sequence < Place::before(self.stream.id.first_sequence).sequence;
            if is_before || first.previous.is_after(sequence) || sequence > last.last.sequence {
                return Ok(None);
            }
            let behind = state.segments.partition_point(|segment| segment.previous.sequence < sequence);
            let Some(index) = behind.checked_sub(1) else { return Ok(Some(first.previous.order)) };
            (state.segments[index], state.segments.get(behind).copied())
        };
        if segment.last.sequence < sequence {
            // The sequence number is between two segments: either the next segment continues there, or records are
            // missing.
            let next = next.filter(|next| !next.previous.is_after(sequence));
            return Ok(next.map(|next| next.previous.order));
        }
        let Some(file) = self.open(&segment)? else {
            return if self.is_known(&segment) { Ok(None) } else { self.order_of_sequence(sequence) };
        };
        let mut blocks = Blocks::new(&file, u64::from(segment.start), segment.length);
        let mut newest = None;
        while let At::Entry(entry) = blocks.next()? {
            if let Head::Records(head) = entry.head
                && head.log == OUTPUT_LOG
            {
                if head.sequence_before >= sequence {
                    break;
                }
                newest = Some((blocks.position(), entry));
            }
            blocks.skip(&entry);
        }
        let Some((at, entry)) = newest else { return Ok(None) };
        let Head::Records(head) = entry.head else { return Ok(None) };
        // The slots alone tell which record it is; payload and checksum are not read.
        let seen = count_seen(&mut blocks, at + entry.head.length() as u64, &head, sequence)?;
        Ok(Some((head.first_order + seen).saturating_sub(1)))
    }

    /// Reads the next entries: about `max_bytes` of them, but at least one; none at the end of the stream. Their memory
    /// is charged to `account` until they are dropped.
    /// A gap is returned together with the entry after it, unless there is none yet.
    ///
    /// # Errors
    /// System errors. The reader has not moved. Damaged entries are not errors: they are returned as a gap.
    pub fn read(&mut self, max_bytes: usize, account: &Arc<MemoryAccount>) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        loop {
            match self.locate() {
                Located::At(segment, offset, next) => {
                    let entries = match self.read_segment(&segment, offset, max_bytes, account) {
                        Ok(entries) => entries,
                        // Return what was found before the error. The next read returns the error again.
                        Err(_) if !found.is_empty() => return Ok(found),
                        Err(error) => return Err(error),
                    };
                    match entries {
                        Some(Read::Entries(entries, end)) => {
                            self.offset = Some(end);
                            entries.into_iter().for_each(|entry| self.add(entry, &mut found));
                        }
                        Some(Read::Damaged) => {
                            let (stream, segment_number) = (&self.stream.id.name, segment.number);
                            tracing::warn!(%stream, segment_number, "a segment of the journal is damaged");
                            found.push(self.gap(next.map_or(0, |next| next.first_order), segment.last));
                            (self.offset, self.seen) = (Some(segment.length), segment.last);
                        }
                        None => {}
                    }
                }
                Located::Gap(gap) => found.push(gap),
                Located::End => return Ok(found),
            }
            if matches!(found.last(), Some(Found::Records { .. } | Found::Note { .. })) {
                return Ok(found);
            }
        }
    }

    /// Reads from a segment. `None` if the segment was removed in the meantime.
    fn read_segment(
        &self,
        segment: &Segment,
        offset: u64,
        max_bytes: usize,
        account: &Arc<MemoryAccount>,
    ) -> io::Result<Option<Read>> {
        Ok(match self.open(segment)? {
            Some(file) => Some(read_entries(&file, offset, segment.length, max_bytes, account)?),
            None if self.is_known(segment) => Some(Read::Damaged),
            None => None,
        })
    }

    /// Finds the next entry, or the gap before it.
    fn locate(&mut self) -> Located {
        let stream = Arc::clone(&self.stream);
        let state = stream.lock();
        loop {
            let index = state.segments.partition_point(|segment| segment.number < self.segment);
            let Some(&segment) = state.segments.get(index) else { return Located::End };
            let next = state.segments.get(index + 1).copied();
            if let Some(offset) = self.offset.filter(|_| segment.number == self.segment) {
                if offset < segment.length {
                    return Located::At(segment, offset, next);
                }
                if next.is_none() {
                    return Located::End;
                }
                (self.segment, self.offset) = (self.segment + 1, None);
                continue;
            }
            (self.segment, self.offset) = (segment.number, Some(u64::from(segment.start)));
            if segment.previous.order > self.seen.order {
                let gap = self.gap(segment.first_order, segment.previous);
                self.seen = segment.previous;
                return Located::Gap(gap);
            }
        }
    }

    fn gap(&self, next_order: u64, missing_up_to: Place) -> Found {
        Found::Gap {
            after_order: self.seen.order,
            after_sequence: self.seen.sequence,
            next_order,
            next_sequence: missing_up_to.sequence.saturating_add(1),
        }
    }

    /// Adds the part of an entry that the reader does not skip, and moves the reader past the entry. If numbered records
    /// are missing before it, then a gap comes first.
    fn add(&mut self, entry: Entry, found: &mut Vec<Found>) {
        let (head, before) = (entry.head(), self.seen);
        self.seen = head.advance(before);
        if self.skip > 0 && self.seen.order <= self.skip {
            self.seen.order = self.skip.max(before.order);
            return;
        }
        match entry {
            Entry::Note { tag, order, bytes } => found.push(Found::Note { tag, order, bytes }),
            Entry::Records { log, run, .. } => {
                let first = run.first();
                let missing_up_to = first.sequence - u64::from(first.is_numbered);
                if log == OUTPUT_LOG && missing_up_to > before.sequence {
                    found.push(Found::Gap {
                        after_order: before.order,
                        after_sequence: before.sequence,
                        next_order: first.order,
                        next_sequence: missing_up_to.saturating_add(1),
                    });
                }
                let skipped = self.skip.saturating_add(1).saturating_sub(first.order);
                let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
                let run = if skipped == 0 { run } else { run.part(skipped..run.len()) };
                found.push(Found::Records { log, run });
            }
        }
    }

    /// Opens a segment; `None` if there is no such file.
    fn open(&self, segment: &Segment) -> io::Result<Option<File>> {
        match File::open(self.journal.segment_path(&self.stream.id, segment.number)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if the stream still has a segment. Retention takes a segment from the stream before it deletes the
    /// file, so if the file of a known segment is missing, another program deleted it.
    fn is_known(&self, segment: &Segment) -> bool {
        self.stream.lock().segments.iter().any(|known| known.number == segment.number)
    }
}

/// The result of [`StreamReader::locate`].
enum Located {
    /// A segment, the offset of an entry in it, and the segment after it.
    At(Segment, u64, Option<Segment>),
    Gap(Found),
    End,
}

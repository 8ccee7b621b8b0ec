//! The one writer of a stream.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use crate::encode::{Encoder, Entry, write_all};
use crate::format::{Head, MAX_ENTRY, SegmentHeader, seal};
use crate::journal::{Journal, now_ms, sync_directory};
use crate::options::SyncMode;
use crate::place::Place;
use crate::segment::{Segment, stream_directory};
use crate::stream::{Stream, StreamId};

/// Writes a stream. Owned by one instance. Dropping a writer without [`StreamWriter::close`] leaves the stream
/// open, as a crash does.
#[derive(Debug)]
pub struct StreamWriter {
    journal: Journal,
    stream: Arc<Stream>,
    encoder: Encoder,
    /// The number of the next segment.
    next_number: u64,
    /// The place after the last record, even if [`StreamWriter::skip_to`] left that record out.
    place: Place,
    /// True if nothing may be appended to the newest segment any more.
    is_segment_over: bool,
    /// The length of the newest segment.
    length: u64,
}

impl StreamWriter {
    /// A writer that continues a stream. The caller has set `has_writer`.
    pub(crate) fn new(journal: Journal, stream: Arc<Stream>) -> Self {
        let newest = stream.lock().segments.last().copied();
        let origin = Place::before(stream.id.first_sequence);
        Self {
            journal,
            encoder: Encoder::default(),
            next_number: newest.map_or(1, |segment| segment.number + 1),
            place: newest.map_or(origin, |segment| segment.last),
            is_segment_over: newest.is_none(),
            length: newest.map_or(0, |segment| segment.length),
            stream,
        }
    }

    /// The stream's id.
    #[must_use]
    pub fn id(&self) -> &StreamId {
        &self.stream.id
    }

    /// The place after the last entry, or the one passed to [`StreamWriter::skip_to`] after that.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Appends entries with one write. When it returns, readers see the entries, and the entries survive a crash of the
    /// server; with [`SyncMode::Full`] also a power failure.
    ///
    /// # Errors
    /// None of the entries was appended, and the caller may try again. Before that, the caller must ask
    /// [`StreamWriter::wants_segment`]: after some errors the current segment cannot be used any more.
    pub fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        if self.is_segment_over {
            return Err(io::Error::other("the stream has no segment that can be written; start one"));
        }
        let (bytes, place) = self.encoder.encode(entries, self.place)?;
        let file = self.file()?;
        let result = self.encoder.write(entries, &*file).and_then(|()| self.sync(&file));
        if let Err(error) = result {
            self.roll_back(&file);
            return Err(error);
        }
        let mut state = self.stream.lock();
        let Some(segment) = state.segments.last_mut() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the stream was removed"));
        };
        let before = segment.on_disk();
        for entry in entries {
            segment.add(&entry.head(), 0);
        }
        segment.length += bytes;
        let grown = segment.on_disk() - before;
        state.note_write(self.journal.sync_mode());
        drop(state);
        self.journal.grow(grown);
        self.length += bytes;
        self.place = place;
        Ok(())
    }

    /// True if a segment must be started before the next append: the current one is full or cannot be used any more.
    #[must_use]
    pub fn wants_segment(&self) -> bool {
        self.is_segment_over || self.length >= self.journal.options().segment_bytes
    }

    /// Starts a segment. Its first entry is `checkpoint`, which has to hold everything that the writer needs to know
    /// about earlier segments: [`Journal::resume`] reads from there. Only the first segment of a stream has no
    /// checkpoint.
    ///
    /// # Errors
    /// Nothing has changed, and the caller may try again.
    pub fn start_segment(&mut self, checkpoint: &[u8]) -> io::Result<()> {
        if checkpoint.len() > MAX_ENTRY / 2 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the checkpoint is too long for the journal",
            ));
        }
        self.start(Some(checkpoint))
    }

    /// Leaves out the records up to a place, which could not be appended: the journal never has them, and readers
    /// receive a gap instead. The caller has to start a segment before the next append.
    pub fn skip_to(&mut self, place: Place) {
        if place.order > self.place.order {
            self.place = place;
            self.is_segment_over = true;
        }
    }

    /// Closes the stream: nobody can append to it any more.
    ///
    /// # Errors
    /// The stream is still open, and the caller may try again.
    pub fn close(&mut self) -> io::Result<()> {
        if self.stream.lock().is_closed {
            return Ok(());
        }
        if self.is_segment_over {
            // Nobody resumes a closed stream, so an empty checkpoint will do.
            self.start(Some(&[]))?;
        }
        let mut bytes = Vec::new();
        Head::Closed.encode(&mut bytes);
        seal(&mut bytes, 0, &[]);
        let file = self.file()?;
        let result = write_all(&*file, &mut [IoSlice::new(&bytes)]).and_then(|()| self.sync(&file));
        if let Err(error) = result {
            self.roll_back(&file);
            return Err(error);
        }
        self.is_segment_over = true;
        let mut state = self.stream.lock();
        let mut grown = 0;
        if let Some(segment) = state.segments.last_mut() {
            let before = segment.on_disk();
            segment.add(&Head::Closed, bytes.len());
            grown = segment.on_disk() - before;
        }
        state.is_closed = true;
        state.note_write(self.journal.sync_mode());
        // Many streams may be closed at once. The background thread opens the file again to sync it.
        state.file = None;
        drop(state);
        self.journal.grow(grown);
        Ok(())
    }

    pub(crate) fn start(&mut self, checkpoint: Option<&[u8]>) -> io::Result<()> {
        let created_at_ms = now_ms();
        let label = self.stream.lock().label.clone();
        let header = SegmentHeader {
            name: &self.stream.id.name,
            label: &label,
            first_sequence: self.stream.id.first_sequence,
            number: self.next_number,
            created_at_ms,
            previous: self.place,
        };
        let mut head = Vec::with_capacity(header.length() + 16);
        header.encode(&mut head);
        let start = head.len();
        if let Some(checkpoint) = checkpoint {
            Head::Checkpoint.encode(&mut head);
            seal(&mut head, start, checkpoint);
        }
        let (path, directory) = (self.path(self.next_number), self.directory());
        let rest = checkpoint.unwrap_or_default();
        let made = create_file(&path).and_then(|file| {
            write_all(&file, &mut [IoSlice::new(&head), IoSlice::new(rest)])?;
            if self.journal.sync_mode() == SyncMode::Full {
                file.sync_all()?;
                sync_directory(&directory)?;
            }
            Ok(file)
        });
        let file = made.inspect_err(|error| {
            self.journal.counters().count_error();
            let is_foreign = error.kind() == io::ErrorKind::AlreadyExists;
            if is_foreign || std::fs::remove_file(&path).is_err() {
                self.next_number += 1;
            }
        })?;
        let segment = Segment {
            number: self.next_number,
            previous: self.place,
            last: self.place,
            first_order: 0,
            first_at_ms: created_at_ms,
            last_at_ms: created_at_ms,
            length: (head.len() + rest.len()) as u64,
            start: start as u32,
        };
        let mut state = self.stream.lock();
        if state.is_removed {
            drop(state);
            let _ = std::fs::remove_file(&path);
            return Err(io::Error::new(io::ErrorKind::NotFound, "the stream was removed"));
        }
        let finished = state.file.replace(Arc::new(file));
        if state.is_dirty {
            state.unsynced.extend(finished);
        }
        state.segments.push(segment);
        state.is_directory_dirty |= self.journal.sync_mode() != SyncMode::Full;
        state.note_write(self.journal.sync_mode());
        drop(state);
        self.journal.grow(segment.on_disk());
        self.next_number += 1;
        self.length = segment.length;
        self.is_segment_over = false;
        Ok(())
    }

    /// The file of the newest segment. Opens it if the background thread closed it while the stream was idle.
    fn file(&self) -> io::Result<Arc<File>> {
        if let Some(file) = &self.stream.lock().file {
            return Ok(Arc::clone(file));
        }
        let path = self.path(self.next_number - 1);
        let file = Arc::new(OpenOptions::new().append(true).open(path)?);
        let is_of_length = file.metadata()?.len() == self.length;
        if !is_of_length {
            // The rest of a failed append, which does not belong to the stream.
            file.set_len(self.length)?;
        }
        self.stream.lock().file = Some(Arc::clone(&file));
        Ok(file)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        if self.journal.sync_mode() == SyncMode::Full { file.sync_data() } else { Ok(()) }
    }

    /// Truncates the newest segment after a failed write, of which a part may be in the file.
    fn roll_back(&mut self, file: &File) {
        self.journal.counters().count_error();
        // After a failed sync, it is unknown which pages the system has written. So with full syncs, nothing may be
        // appended to this segment any more.
        let is_sound = self.journal.sync_mode() == SyncMode::EverySecond && file.set_len(self.length).is_ok();
        self.is_segment_over = !is_sound;
    }

    fn directory(&self) -> PathBuf {
        stream_directory(self.journal.streams_directory(), &self.stream.id)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.journal.segment_path(&self.stream.id, number)
    }
}

impl Drop for StreamWriter {
    fn drop(&mut self) {
        let mut state = self.stream.lock();
        state.has_writer = false;
        state.file = None;
    }
}

fn create_file(path: &std::path::Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
    // The umask may have changed the mode.
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;

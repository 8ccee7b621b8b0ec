//! Reads a file: it is opened without blocking, its kind is checked on the open handle, and a range is read in
//! chunks.
//!
//! At most one chunk is in memory, and devices and FIFOs are never opened for reading.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::error::{At, Error, Result};
use crate::metadata::{EntryType, Metadata};
use crate::path::UserPath;
use crate::service::FileService;
use crate::sys;

/// The size of a chunk: large enough that the cost of system calls is negligible, small enough for many readers.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// How often to retry when a name changes while it is opened.
const RACE_RETRIES: usize = 16;

/// The length of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// The length in its metadata.
    Known(u64),
    /// Unknown until the end is read, because the system generates the contents, as in `/proc`. Ranges are
    /// not available.
    Unknown,
}

/// An open regular file.
#[derive(Debug)]
pub struct FileReader {
    path: PathBuf,
    file: File,
    metadata: Metadata,
    length: Length,
}

impl FileService {
    /// Opens a file for reading. A final link is followed.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::WrongKind`] for anything but a regular file, [`Error::PermissionDenied`],
    /// [`Error::OutsideRoot`].
    pub fn open_file(&self, path: &UserPath) -> Result<FileReader> {
        let located = self.tree().locate(path)?;
        let wrong = |found: EntryType| Error::WrongKind {
            path: located.shown.clone(),
            found: found.described(),
            needed: EntryType::File.described(),
        };
        for _ in 0..RACE_RETRIES {
            let place = self.tree().place_followed(&located)?;
            // Opening a device can have side effects, so the kind is checked twice: on the name before
            // opening, and on the handle afterwards.
            match place.stat()?.entry_type() {
                EntryType::File => {}
                EntryType::Symlink => continue,
                other => return Err(wrong(other)),
            }
            if path.names_directory() {
                return Err(wrong(EntryType::File));
            }
            let file = match sys::open_for_reading(&place.directory, &place.name) {
                Ok(file) => File::from(file),
                Err(Errno::LOOP) => continue,
                Err(error) => return Err(Error::at(&located.shown, error)),
            };
            let stat = sys::stat_handle(&file).at(&located.shown)?;
            if stat.entry_type() != EntryType::File {
                return Err(wrong(stat.entry_type()));
            }
            let length = if stat.size() == 0 && holds_bytes(&file) {
                Length::Unknown
            } else {
                Length::Known(stat.size())
            };
            advise_sequential(&file);
            return Ok(FileReader { path: located.shown, file, metadata: Metadata::of(&stat), length });
        }
        Err(Error::Changed { path: located.shown })
    }
}

impl FileReader {
    /// The path, as shown to the user.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's metadata at the time it was opened.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The number of bytes to read.
    #[must_use]
    pub fn length(&self) -> Length {
        self.length
    }

    /// Reads the whole file.
    #[must_use]
    pub fn whole(self) -> RangeReader {
        let end = match self.length {
            Length::Known(size) => Some(size),
            Length::Unknown => None,
        };
        RangeReader { file: self.file, position: 0, end }
    }

    /// Reads one range, which the caller has clamped to the file's length.
    #[must_use]
    pub fn range(self, range: Range<u64>) -> RangeReader {
        RangeReader { file: self.file, position: range.start, end: Some(range.end.max(range.start)) }
    }
}

/// Reads a range in chunks. If the file grows in the meantime, only the bytes of the range are read; if it
/// shrinks, reading fails, so that the response is aborted instead of being silently too short.
#[derive(Debug)]
pub struct RangeReader {
    file: File,
    position: u64,
    /// `None` reads until the end of the file.
    end: Option<u64>,
}

impl RangeReader {
    /// The first `size` bytes of an open file.
    pub(crate) fn over(file: File, size: u64) -> Self {
        Self { file, position: 0, end: Some(size) }
    }

    /// The next chunk, at most [`CHUNK_BYTES`]; `None` at the end.
    ///
    /// # Errors
    /// The system's error, or `UnexpectedEof` if the file has become shorter.
    pub fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.read_into(self.buffer())
    }

    /// Memory for the next chunk. A thread keeps some of the memory that it requested, so where many threads read,
    /// another one requests it.
    #[must_use]
    pub fn buffer(&self) -> Vec<u8> {
        let wanted = self.end.map_or(CHUNK_BYTES as u64, |end| end - self.position).min(CHUNK_BYTES as u64);
        Vec::with_capacity(usize::try_from(wanted).unwrap_or(CHUNK_BYTES))
    }

    /// Like [`RangeReader::next_chunk`], in memory from [`RangeReader::buffer`].
    ///
    /// # Errors
    /// See [`RangeReader::next_chunk`].
    pub fn read_into(&mut self, mut chunk: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        if chunk.capacity() == 0 {
            return Ok(None);
        }
        // Read into uninitialised memory: zeroing it first would take about as long as reading.
        let count = loop {
            match rustix::io::pread(&self.file, spare_capacity(&mut chunk), self.position) {
                Err(Errno::INTR) => {}
                read => break read?,
            }
        };
        if count == 0 && self.end.is_some() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.position += count as u64;
        Ok((count > 0).then_some(chunk))
    }
}

impl Read for RangeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.map_or(u64::MAX, |end| end - self.position);
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        loop {
            match self.file.read_at(&mut buffer[..wanted], self.position) {
                Ok(0) if self.end.is_some() => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.position += count as u64;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn holds_bytes(file: &File) -> bool {
    matches!(file.read_at(&mut [0], 0), Ok(1))
}

fn advise_sequential(file: &File) {
    // This is only a hint, so its result is ignored.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

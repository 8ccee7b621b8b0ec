//! Packs a directory as a tar stream, with one chunk in memory.
//!
//! Names are relative to the directory, so unpacking the archive elsewhere gives the same tree. Links are packed
//! as links. FIFOs, sockets and devices are skipped. A file that shrinks while it is packed ends the stream with
//! an error.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::Compression;
use rustix::io::Errno;

use super::ArchiveFormat;
use crate::error::{At, Error, Result};
use crate::metadata::EntryType;
use crate::path::UserPath;
use crate::reader::RangeReader;
use crate::service::FileService;
use crate::sys::{self, Stat};
use crate::walk::{Visit, Visited, Visitor, walk};

/// Levels that keep up with a network and give most of the possible compression.
const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;
const BUFFER_BYTES: usize = 256 * 1024;

/// A directory that is open and ready to be packed. All checks that can refuse it have been made.
#[derive(Debug)]
pub struct ArchiveBuilder {
    directory: OwnedFd,
    shown: PathBuf,
}

impl FileService {
    /// Opens a directory for packing. A final link is followed.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::WrongKind`] if it is not a directory, [`Error::PermissionDenied`].
    pub fn open_archive(&self, path: &UserPath) -> Result<ArchiveBuilder> {
        let located = self.tree().locate(path)?;
        let directory = self.tree().open_directory(&located.inner).at(&located.shown)?;
        // Check the read permission now: once the response has begun, it cannot report an error.
        drop(sys::names(&directory).at(&located.shown)?);
        Ok(ArchiveBuilder { directory, shown: located.shown })
    }
}

impl ArchiveBuilder {
    /// The directory's path, as shown to the user.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shown
    }

    /// Writes the archive and returns the number of its entries.
    ///
    /// # Errors
    /// [`Error::OutputFailed`] if the client has disconnected; otherwise the error of the entry that could
    /// not be read. In both cases the stream has no end marker.
    pub fn write_to(self, format: ArchiveFormat, output: impl Write) -> Result<u64> {
        let failed = Rc::new(RefCell::new(None));
        let watched = Watched { output, failed: Rc::clone(&failed) };
        let written = self.write_format(format, watched);
        match failed.take() {
            Some(source) => Err(Error::OutputFailed { source }),
            None => written,
        }
    }

    fn write_format(self, format: ArchiveFormat, output: impl Write) -> Result<u64> {
        let shown = self.shown.clone();
        let mut output = io::BufWriter::with_capacity(BUFFER_BYTES, output);
        let count = match format {
            ArchiveFormat::Tar => self.write_tar(&mut output)?,
            ArchiveFormat::TarGzip => {
                let mut encoder = flate2::write::GzEncoder::new(&mut output, Compression::new(GZIP_LEVEL));
                let count = self.write_tar(&mut encoder)?;
                encoder.finish().at(&shown)?;
                count
            }
            ArchiveFormat::TarZstd => {
                let mut encoder = zstd::stream::write::Encoder::new(&mut output, ZSTD_LEVEL).at(&shown)?;
                let count = self.write_tar(&mut encoder)?;
                encoder.finish().at(&shown)?;
                count
            }
        };
        output.flush().at(&shown)?;
        Ok(count)
    }

    fn write_tar(self, output: impl Write) -> Result<u64> {
        let mut packer = Packer { builder: tar::Builder::new(output), shown: &self.shown, count: 0 };
        walk(self.directory, &self.shown, &mut packer)?;
        packer.builder.finish().at(&self.shown)?;
        Ok(packer.count)
    }
}

struct Packer<'a, W: Write> {
    builder: tar::Builder<W>,
    shown: &'a Path,
    count: u64,
}

impl<W: Write> Visitor for Packer<'_, W> {
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit> {
        // Unfinished uploads are not packed.
        if sys::is_temporary(entry.name) {
            return Ok(Visit::Next);
        }
        let shown = self.shown.join(entry.path);
        let stat = match sys::stat_name(entry.directory, entry.name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Visit::Next),
            Err(error) => return Err(Error::at(&shown, error)),
        };
        match stat.entry_type() {
            EntryType::File => return self.pack_file(&entry, &shown),
            EntryType::Directory => {
                let mut header = header_for(&stat, tar::EntryType::Directory);
                self.builder.append_data(&mut header, entry.path, io::empty()).at(&shown)?;
            }
            EntryType::Symlink => {
                let target = match sys::read_link(entry.directory, entry.name) {
                    Ok(target) => target,
                    Err(Errno::NOENT | Errno::INVAL) => return Ok(Visit::Next),
                    Err(error) => return Err(Error::at(&shown, error)),
                };
                let mut header = header_for(&stat, tar::EntryType::Symlink);
                self.builder.append_link(&mut header, entry.path, Path::new(&target)).at(&shown)?;
            }
            EntryType::Other => return Ok(Visit::Next),
        }
        self.count += 1;
        Ok(if stat.is_directory() { Visit::Enter } else { Visit::Next })
    }

    fn leave(&mut self, _: Visited<'_>) -> Result<()> {
        Ok(())
    }
}

impl<W: Write> Packer<'_, W> {
    fn pack_file(&mut self, entry: &Visited<'_>, shown: &Path) -> Result<Visit> {
        let file = match sys::open_for_reading(entry.directory, entry.name) {
            Ok(file) => File::from(file),
            // The entry was removed or replaced since it was listed.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(Visit::Next),
            Err(error) => return Err(Error::at(shown, error)),
        };
        let stat = sys::stat_handle(&file).at(shown)?;
        if stat.entry_type() != EntryType::File {
            return Ok(Visit::Next);
        }
        let mut header = header_for(&stat, tar::EntryType::Regular);
        header.set_size(stat.size());
        self.builder.append_data(&mut header, entry.path, RangeReader::over(file, stat.size())).at(shown)?;
        self.count += 1;
        Ok(Visit::Next)
    }
}

fn header_for(stat: &Stat, kind: tar::EntryType) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    let (user, group) = stat.owner();
    header.set_entry_type(kind);
    header.set_mode(stat.permissions());
    header.set_uid(user.into());
    header.set_gid(group.into());
    header.set_size(0);
    header.set_mtime(u64::try_from(stat.modified().seconds).unwrap_or(0));
    header
}

/// Remembers an error of the output, to distinguish it from a file that could not be read.
struct Watched<W> {
    output: W,
    failed: Rc<RefCell<Option<io::Error>>>,
}

impl<W> Watched<W> {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                *self.failed.borrow_mut() = Some(io::Error::new(error.kind(), error.to_string()));
            }
        })
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.output.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.output.flush();
        self.note(result)
    }
}

//! Reads a zip file, one entry at a time, in the order of its central directory.
//!
//! The directory is at the end, so a zip must be a seekable file. The stated size of an entry is not trusted: `extract`
//! compares it with the data.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::RejectReason;
use super::entry::{EntryData, EntrySource, Kind, PackedEntry};
use super::names::printable;
use crate::error::{Error, Result};

/// The longest target of a link.
const LINK_BYTES: u64 = 4096;
/// The bits of a Unix mode that hold the kind of an entry, and their values.
const KIND_BITS: u32 = 0o170_000;
const NO_KIND: u32 = 0;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;
const FIFO: u32 = 0o010_000;
/// The mode of entries from systems without modes.
const DEFAULT_MODE: u32 = 0o644;

pub(super) struct ZipReader<'a> {
    archive: ZipArchive<BufReader<&'a File>>,
    /// The path of the target, for errors of the system.
    shown: &'a Path,
}

impl<'a> ZipReader<'a> {
    pub(super) fn open(file: &'a File, shown: &'a Path) -> Result<Self> {
        let archive = ZipArchive::new(BufReader::new(file)).map_err(|error| explain(error, None, shown))?;
        Ok(Self { archive, shown })
    }
}

impl EntrySource for ZipReader<'_> {
    fn for_each(
        &mut self,
        take: &mut dyn FnMut(&PackedEntry, &mut dyn EntryData) -> Result<()>,
    ) -> Result<()> {
        for index in 0..self.archive.len() {
            let mut file = self.archive.by_index(index).map_err(|error| explain(error, None, self.shown))?;
            let name =
                file.name().map_err(|error| explain(error, None, self.shown))?.into_owned().into_bytes();
            let reject = |reason| Error::rejected(&printable(&name), reason);
            let mode = file.unix_mode().unwrap_or(DEFAULT_MODE);
            let kind = match mode & KIND_BITS {
                _ if file.is_dir() => Kind::Directory,
                NO_KIND | REGULAR => Kind::File { size: file.size() },
                DIRECTORY => Kind::Directory,
                LINK => {
                    let mut target = Vec::new();
                    let read = (&mut file).take(LINK_BYTES + 1).read_to_end(&mut target);
                    read.map_err(|error| explain(error.into(), Some(&name), self.shown))?;
                    if target.len() as u64 > LINK_BYTES {
                        return Err(reject(RejectReason::BadName));
                    }
                    Kind::SymbolicLink { target }
                }
                FIFO => return Err(reject(RejectReason::Fifo)),
                _ => return Err(reject(RejectReason::Device)),
            };
            let entry = PackedEntry { name: name.clone(), kind, mode, modified: None };
            take(&entry, &mut ZipData { file, name: &name, shown: self.shown })?;
        }
        Ok(())
    }
}

struct ZipData<'a, R> {
    file: R,
    name: &'a [u8],
    shown: &'a Path,
}

impl<R: Read> EntryData for ZipData<'_, R> {
    fn read_data(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(explain(error.into(), Some(self.name), self.shown)),
                Ok(count) => return Ok(count),
            }
        }
    }
}

/// Distinguishes read errors of the system from a damaged archive.
fn explain(error: ZipError, name: Option<&[u8]>, shown: &Path) -> Error {
    let reason = match error {
        ZipError::Io(error) if error.raw_os_error().is_some() => return Error::at(shown, error),
        ZipError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => RejectReason::Truncated,
        ZipError::Io(_) => RejectReason::BadCompression,
        ZipError::InvalidArchive(_) => RejectReason::BadZip,
        _ => RejectReason::UnsupportedZip,
    };
    Error::ArchiveRejected { entry: name.map(printable), reason }
}

//! Unpacks an archive in three steps: stage it, check it completely, merge it.
//!
//! Owners are not restored and set-id bits are dropped. The modes of an upload obey the umask, as with `tar x` for users
//! other than root. Files are not synced one by one, as `tar` does not sync them either.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use super::entry::{EntryData, EntrySource, Kind, PackedEntry};
use super::input::{Compression, Input};
use super::names::{EntryName, printable};
use super::staging::{Notes, Staging};
use super::tar_reader::TarReader;
use super::zip_reader::ZipReader;
use super::{
    ArchiveFormat, ArchiveLimits, Attributes, Backslashes, ExtractOptions, Extracted, FileFormat,
    LISTED_PATHS, RejectReason, links, merge,
};
use crate::attributes;
use crate::error::{At, Error, Result};
use crate::path::{UserPath, split};
use crate::service::FileService;
use crate::sys;
use crate::timestamp::Timestamp;

const COPY_BYTES: usize = 256 * 1024;

/// Attributes to set on a directory once its contents are in place, since writing into it would change them.
#[derive(Debug, Clone, Copy)]
pub(super) struct DirectoryAttributes {
    /// `None` leaves the mode or the time unchanged.
    mode: Option<u32>,
    modified: Option<Timestamp>,
}

impl FileService {
    /// Unpacks a tar archive into a directory, which is created if it does not exist.
    ///
    /// # Errors
    /// [`Error::ArchiveRejected`], [`Error::TooLarge`], [`Error::TooManyEntries`], [`Error::NoSpace`] and
    /// [`Error::InputFailed`] leave everything unchanged. A system error while the checked entries are moved into
    /// place (a directory without write permission, a disk failure) can leave some of them there.
    pub fn extract_archive(
        &self,
        path: &UserPath,
        format: ArchiveFormat,
        limits: ArchiveLimits,
        source: impl Read,
    ) -> Result<Extracted> {
        let located = self.tree().locate(path)?;
        let (target, created) = self.tree().make_directories(&located.inner, &located.shown)?;
        let options = ExtractOptions { limits, ..ExtractOptions::default() };
        // Declared after `created`, so that the staging folder is removed before the directories that were
        // created for it.
        let notes = Notes::With { service: self.clone(), target: located.inner.clone() };
        let mut extraction = Extraction::begin(target, &located.shown, notes, options)?;
        extraction.read(&mut TarReader::new(Input::open(source, format.into())?))?;
        let target = if created.is_empty() { Target::Found } else { Target::Made };
        let extracted = {
            // Another archive must not change the directories that this archive's links are checked against.
            let _one_at_a_time = self.hold_merging();
            extraction.finish(target)?
        };
        created.keep();
        Ok(extracted)
    }
}

/// Unpacks an archive file into an existing directory. Nothing else may unpack into that directory in the meantime.
///
/// # Errors
/// See [`FileService::extract_archive`].
pub fn extract_file(
    archive: &File,
    format: FileFormat,
    target: &Path,
    options: ExtractOptions,
) -> Result<Extracted> {
    let directory =
        rustix::fs::openat(CWD, target, sys::directory_handle(), rustix::fs::Mode::empty()).at(target)?;
    let mut extraction = Extraction::begin(directory, target, Notes::Nowhere, options)?;
    let mut tar = |compression| extraction.read(&mut TarReader::new(Input::open(archive, compression)?));
    match format {
        FileFormat::TarGzip => tar(Compression::Gzip)?,
        FileFormat::TarBzip2 => tar(Compression::Bzip2)?,
        FileFormat::TarZstd => tar(Compression::Zstd)?,
        FileFormat::Zip => extraction.read(&mut ZipReader::open(archive, target)?)?,
    }
    extraction.finish(Target::Found)
}

/// Whether the target existed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// The target existed, so it keeps its mode and time.
    Found,
    /// The target was created for this archive, and gets the archive's mode and time.
    Made,
}

struct Extraction {
    staging: Staging,
    shown: PathBuf,
    options: ExtractOptions,
    directories: BTreeMap<EntryName, DirectoryAttributes>,
    has_links: bool,
    paths: Vec<PathBuf>,
    count: u64,
    bytes: u64,
    buffer: Vec<u8>,
}

impl Extraction {
    fn begin(target: OwnedFd, shown: &Path, notes: Notes, options: ExtractOptions) -> Result<Self> {
        Ok(Self {
            staging: Staging::create(target, shown, notes, &options)?,
            shown: shown.to_path_buf(),
            options,
            directories: BTreeMap::new(),
            has_links: false,
            paths: Vec::new(),
            count: 0,
            bytes: 0,
            buffer: vec![0; COPY_BYTES],
        })
    }

    /// Unpacks every entry into the staging folder.
    fn read(&mut self, source: &mut dyn EntrySource) -> Result<()> {
        source.for_each(&mut |entry, data| self.unpack(entry, data))
    }

    /// Checks the staged entries and moves them into the target.
    fn finish(self, target: Target) -> Result<Extracted> {
        if self.has_links {
            links::check(&self.staging, &self.shown)?;
        }
        merge::check(&self.staging, &self.directories, &self.shown)?;
        merge::merge(&self.staging, &self.directories, &self.shown)?;
        for (name, attributes) in self.directories.iter().rev() {
            if !name.is_target_itself() || target == Target::Made {
                finish_directory(&self.staging, name, *attributes);
            }
        }
        let truncated = self.count > LISTED_PATHS as u64;
        Ok(Extracted { target: self.shown, truncated, paths: self.paths, count: self.count })
    }

    fn unpack(&mut self, entry: &PackedEntry, data: &mut dyn EntryData) -> Result<()> {
        self.staging.count_entry()?;
        if let Kind::File { size } = entry.kind {
            self.count_bytes(size)?;
        }
        let reject = |reason| Error::rejected(&printable(&entry.name), reason);
        let full_name = self.parse(&entry.name).map_err(reject)?;
        let Some(name) = full_name.without_leading(self.options.strip_components) else { return Ok(()) };
        if name.is_target_itself() && entry.kind != Kind::Directory {
            return Err(reject(RejectReason::BadName));
        }
        let modified = match self.options.attributes {
            Attributes::AsPacked => entry.modified,
            Attributes::Normalized => None,
        };
        match &entry.kind {
            Kind::Directory => {
                if !name.is_target_itself() {
                    self.staging.make_directory(&name)?;
                }
                let mode = (self.options.attributes == Attributes::AsPacked).then_some(entry.mode);
                self.directories.insert(name.clone(), DirectoryAttributes { mode, modified });
            }
            Kind::File { size } => {
                let file = self.staging.create_file(&name, entry.mode)?;
                self.write(file, *size, &name, data)
                    .and_then(|file| match modified {
                        Some(time) => {
                            rustix::fs::futimens(file, &attributes::modified_at(time)).at(&self.shown)
                        }
                        None => Ok(()),
                    })
                    .map_err(|error| named(error, &name))?;
            }
            Kind::SymbolicLink { target } => {
                if target.is_empty() || target.contains(&0) {
                    return Err(reject(RejectReason::BadName));
                }
                self.staging.make_link(&name, OsStr::from_bytes(target), modified)?;
                self.has_links = true;
            }
            Kind::HardLink { target } => {
                let outside = || RejectReason::HardLinkOutside { target: printable(target) };
                let original = self.parse(target).map_err(|_| reject(outside()))?;
                let original = original
                    .without_leading(self.options.strip_components)
                    .ok_or_else(|| reject(outside()))?;
                self.staging.make_hard_link(&name, &original)?;
            }
        }
        // An entry of another kind has replaced the directory.
        if entry.kind != Kind::Directory {
            self.directories.remove(&name);
        }
        self.count += 1;
        if self.paths.len() < LISTED_PATHS {
            self.paths.push(self.shown.join(name.as_path()).components().collect());
        }
        Ok(())
    }

    fn parse(&self, name: &[u8]) -> std::result::Result<EntryName, RejectReason> {
        if self.options.backslashes == Backslashes::Refuse && name.contains(&b'\\') {
            return Err(RejectReason::Backslash);
        }
        EntryName::parse(name)
    }

    /// Counts the stated size of an entry before its data is read.
    fn count_bytes(&mut self, size: u64) -> Result<()> {
        self.bytes = self.bytes.saturating_add(size);
        match self.options.limits.max_bytes {
            Some(limit) if self.bytes > limit => Err(Error::TooLarge { limit }),
            _ => Ok(()),
        }
    }

    /// Writes the data of a file, which must have the size in its header, because the limits were checked
    /// with that size.
    fn write(
        &mut self,
        mut file: File,
        size: u64,
        name: &EntryName,
        data: &mut dyn EntryData,
    ) -> Result<File> {
        let wrong_size = || Error::rejected(name.as_path(), RejectReason::WrongSize);
        let mut left = size;
        loop {
            let count = data.read_data(&mut self.buffer)?;
            if count == 0 {
                return if left == 0 { Ok(file) } else { Err(wrong_size()) };
            }
            left = left.checked_sub(count as u64).ok_or_else(wrong_size)?;
            file.write_all(&self.buffer[..count]).at(&self.shown.join(name.as_path()))?;
        }
    }
}

/// Adds the entry's name to the error of an archive that ends early.
fn named(error: Error, name: &EntryName) -> Error {
    match error {
        Error::ArchiveRejected { entry: None, reason } => Error::rejected(name.as_path(), reason),
        other => other,
    }
}

/// Sets a directory's attributes if possible. A failure is ignored, since the contents are in place: a
/// directory that belongs to another user keeps its mode and time.
fn finish_directory(staging: &Staging, name: &EntryName, attributes: DirectoryAttributes) {
    let finish = || -> rustix::io::Result<()> {
        let directory = readable_below(staging.target(), name.as_path())?;
        if let Some(mode) = attributes.mode {
            // Keep the set-group-id bit that is inherited from the parent.
            let inherited = sys::stat_handle(&directory)?.permissions() & 0o2000;
            let mode = mode & staging.allowed_mode() | inherited;
            rustix::fs::fchmod(&directory, sys::mode_bits(mode))?;
        }
        match attributes.modified {
            Some(modified) => rustix::fs::futimens(&directory, &attributes::modified_at(modified)),
            None => Ok(()),
        }
    };
    let _ = finish();
}

fn readable_below(top: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    match split(path) {
        Some((parent, name)) => sys::open_for_reading(sys::open_below(top, parent)?, name),
        None => sys::open_for_reading(top, OsStr::new(".")),
    }
}

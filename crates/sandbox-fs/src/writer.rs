//! Writes a file completely or not at all.
//!
//! Bytes go into a temporary file in the target's directory, and `commit` renames it over the target, whose mode,
//! owner and extended attributes are preserved. Dropping the writer before that removes the temporary file and
//! every directory that was created for it.
//!
//! Some files are overwritten in place instead: mount points, files with several hard links, files in a directory
//! that is not writable, and files whose owner or attributes could not be given to a new file. That happens at
//! `commit`, after the space is reserved, so that an interrupted upload leaves the old file even then. The outcome
//! reports which way was used.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;

use crate::attributes;
use crate::created::CreatedDirectories;
use crate::error::{At, Error, Result};
use crate::etag::ETag;
use crate::metadata::EntryType;
use crate::path::{UserPath, split};
use crate::root::{Located, Place};
use crate::service::{Durability, FileService};
use crate::sys::{self, Name, Stat};
use crate::temporaries::Noted;

/// How often to retry when a directory is removed concurrently.
const RACE_RETRIES: usize = 8;

/// The required state of the target, checked when the upload begins and again when it is committed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Precondition {
    /// No requirement.
    #[default]
    None,
    /// The target must not exist (`If-None-Match: *`).
    MustNotExist,
    /// The target must exist, in any version (`If-Match: *`).
    MustExist,
    /// The target must exist in one of these versions (`If-Match`).
    MustMatch(Vec<ETag>),
}

impl Precondition {
    fn check(&self, found: Option<&Stat>, path: &Path) -> Result<()> {
        let holds = match self {
            Self::None => true,
            Self::MustNotExist => found.is_none(),
            Self::MustExist => found.is_some(),
            Self::MustMatch(tags) => found.is_some_and(|stat| tags.contains(&ETag::of(stat))),
        };
        if holds { Ok(()) } else { Err(Error::PreconditionFailed { path: path.to_path_buf() }) }
    }
}

/// The options of a write.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// The required state of the target.
    pub precondition: Precondition,
    /// The maximum number of bytes; unlimited by default.
    pub max_bytes: Option<u64>,
}

/// How the new bytes replaced the old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomicity {
    /// Atomically: a reader sees the old file or the new one.
    Atomic,
    /// Over the old bytes, because the file could not be replaced.
    InPlace,
}

/// The result of a committed upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    /// The requested path.
    pub path: PathBuf,
    /// The file's new size.
    pub bytes_written: u64,
    /// Whether the file was replaced atomically.
    pub atomic: Atomicity,
    /// Whether the file did not exist before.
    pub created: bool,
    /// The file's new version.
    pub etag: ETag,
}

/// A running upload.
#[derive(Debug)]
pub struct AtomicWriter {
    service: FileService,
    place: Place,
    options: WriteOptions,
    spool: Spool,
    /// The target's mode at the beginning, in case the target is removed before the end.
    former_mode: Option<u32>,
    written: u64,
    /// Declared last, so that the temporary file is removed before its directory.
    created: CreatedDirectories,
}

/// Holds the bytes until they are committed.
#[derive(Debug)]
struct Spool {
    file: File,
    /// The temporary file next to the target; `None` for an unnamed file, which vanishes when it is closed.
    temporary: Option<Place>,
    _noted: Option<Noted>,
}

impl Drop for Spool {
    fn drop(&mut self) {
        if let Some(place) = self.temporary.take() {
            // A failure here cannot be handled; the leftover's name shows that it is temporary.
            let _ = sys::unlink(&place.directory, &place.name);
        }
    }
}

impl FileService {
    /// Begins to write a file. A final link is followed, and missing parents are created.
    ///
    /// # Errors
    /// [`Error::WrongKind`] if the target is not a regular file, [`Error::PreconditionFailed`],
    /// [`Error::PermissionDenied`], [`Error::NoSpace`], [`Error::OutsideRoot`], [`Error::BadName`].
    pub fn begin_write(&self, path: &UserPath, options: &WriteOptions) -> Result<AtomicWriter> {
        let located = self.tree().locate(path)?;
        if path.names_directory() {
            return Err(Error::bad_name(
                &located.shown,
                "it has the form of a directory and cannot name a file",
            ));
        }
        for _ in 0..RACE_RETRIES {
            match self.try_begin(&located, options) {
                // Another upload failed and removed its new directories, among them a parent of this target.
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
                Ok(writer) => return Ok(writer),
            }
        }
        Err(Error::NotFound { path: located.shown })
    }

    fn try_begin(&self, located: &Located, options: &WriteOptions) -> Result<AtomicWriter> {
        let Some((parent, _)) = split(&located.inner) else {
            return Err(Error::bad_name(&located.shown, "its last component must be a name"));
        };
        let (_, created) = self.tree().make_directories(parent, &located.shown)?;
        let place = self.tree().place_followed(located)?;
        let found = place.find()?;
        if let Some(stat) = &found {
            check_writable(&place, stat)?;
        }
        options.precondition.check(found.as_ref(), &place.shown)?;
        let spool = self.open_spool(&place, found.as_ref())?;
        let former_mode = found.as_ref().map(Stat::permissions);
        let (service, options) = (self.clone(), options.clone());
        Ok(AtomicWriter { service, place, options, spool, former_mode, written: 0, created })
    }

    fn open_spool(&self, place: &Place, found: Option<&Stat>) -> Result<Spool> {
        let name = sys::temporary_name("upload");
        // A private file must not be readable by others while it is being uploaded.
        let mode = if found.is_some() { 0o600 } else { 0o666 };
        let noted = self.note_temporary(&place.parent, &name);
        match sys::create_file(&place.directory, &name, mode) {
            Ok(file) => {
                let directory = rustix::io::fcntl_dupfd_cloexec(&place.directory, 0).at(&place.shown)?;
                let (parent, shown) = (place.parent.clone(), place.shown.clone());
                let temporary = Place { directory, parent, name, shown };
                Ok(Spool { file: file.into(), temporary: Some(temporary), _noted: noted })
            }
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) if found.is_some() => {
                let file = match &self.options().spool_directory {
                    Some(directory) => tempfile::tempfile_in(directory),
                    None => tempfile::tempfile(),
                };
                Ok(Spool { file: file.at(&place.shown)?, temporary: None, _noted: None })
            }
            Err(error) => Err(Error::at(&place.shown, error)),
        }
    }
}

/// Checks that the file is writable: replacing it would need no permission on the file itself.
fn check_writable(place: &Place, stat: &Stat) -> Result<()> {
    match stat.entry_type() {
        EntryType::File => {}
        EntryType::Symlink => return Err(Error::Changed { path: place.shown.clone() }),
        other => {
            return Err(Error::WrongKind {
                path: place.shown.clone(),
                found: other.described(),
                needed: EntryType::File.described(),
            });
        }
    }
    rustix::fs::accessat(&place.directory, &place.name, Access::WRITE_OK, AtFlags::EACCESS).at(&place.shown)
}

impl AtomicWriter {
    /// Writes the next bytes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] above the limit, [`Error::NoSpace`]. The writer cannot be used after that; drop it.
    pub fn write_chunk(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.written + bytes.len() as u64;
        if let Some(limit) = self.options.max_bytes.filter(|limit| written > *limit) {
            return Err(Error::TooLarge { limit });
        }
        self.spool.file.write_all(bytes).at(&self.place.shown)?;
        self.written = written;
        Ok(())
    }

    /// The number of bytes written so far.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Puts the file in place. Commits to the same name are serialised.
    ///
    /// # Errors
    /// [`Error::PreconditionFailed`] if the target has changed and no longer satisfies the precondition,
    /// [`Error::NoSpace`], [`Error::Changed`]. The old file is unchanged, unless overwriting in place itself
    /// failed.
    pub fn commit(mut self) -> Result<WriteOutcome> {
        let _guard = self.service.lock(&[&self.place])?;
        let found = self.place.find()?;
        if let Some(stat) = &found {
            check_writable(&self.place, stat)?;
        }
        self.options.precondition.check(found.as_ref(), &self.place.shown)?;
        if self.service.options().durability == Durability::Synced {
            self.spool.file.sync_data().at(&self.place.shown)?;
        }
        let (file, atomic) = match self.replace(found.as_ref())? {
            Some(file) => (file, Atomicity::Atomic),
            None => (self.overwrite()?, Atomicity::InPlace),
        };
        let stat = sys::stat_handle(&file).at(&self.place.shown)?;
        std::mem::replace(&mut self.created, CreatedDirectories::none()).keep();
        Ok(WriteOutcome {
            path: self.place.shown.clone(),
            bytes_written: self.written,
            atomic,
            created: found.is_none(),
            etag: ETag::of(&stat),
        })
    }

    /// Renames the temporary file over the target; `None` if that would lose something that belongs to the old
    /// file.
    fn replace(&mut self, found: Option<&Stat>) -> Result<Option<File>> {
        let shown = &self.place.shown;
        let Some(temporary) = &self.spool.temporary else { return Ok(None) };
        if let Some(stat) = found {
            let mounted = sys::is_mount_point(&self.place.directory, &self.place.name, stat).at(shown)?;
            if stat.links() > 1 || mounted || !preserve_attributes(&self.place, stat, &self.spool.file) {
                return Ok(None);
            }
        } else if let Some(mode) = self.former_mode {
            rustix::fs::fchmod(&self.spool.file, sys::mode_bits(mode)).at(shown)?;
        }
        match rename_over(temporary.as_name(), self.place.as_name(), &self.options.precondition) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(Error::PreconditionFailed { path: shown.clone() }),
            Err(Errno::BUSY) => return Ok(None),
            Err(error) => return Err(Error::at(shown, error)),
        }
        self.spool.temporary = None;
        self.spool.file.try_clone().at(shown).map(Some)
    }

    /// Copies the bytes over the old ones, after their space is reserved.
    fn overwrite(&mut self) -> Result<File> {
        let shown = &self.place.shown;
        let target = sys::open_for_writing(&self.place.directory, &self.place.name).at(shown)?;
        if sys::stat_handle(&target).at(shown)?.entry_type() != EntryType::File {
            return Err(Error::Changed { path: shown.clone() });
        }
        sys::reserve(target.as_fd(), self.written).at(shown)?;
        let mut target = File::from(target);
        self.spool.file.rewind().at(shown)?;
        io::copy(&mut self.spool.file, &mut target).at(shown)?;
        target.set_len(self.written).at(shown)?;
        if self.service.options().durability == Durability::Synced {
            target.sync_data().at(shown)?;
        }
        Ok(target)
    }
}

/// Renames the temporary file to the target's name. A target that must not exist is also protected against
/// other processes, if the system supports that.
fn rename_over(from: Name<'_>, to: Name<'_>, precondition: &Precondition) -> rustix::io::Result<()> {
    if *precondition == Precondition::MustNotExist {
        match sys::rename_exclusive(from, to) {
            Err(Errno::NOSYS) => {}
            other => return other,
        }
    }
    sys::rename(from, to)
}

/// True if the new file was given all metadata of the old one.
fn preserve_attributes(place: &Place, stat: &Stat, file: &File) -> bool {
    let old = sys::open_for_reading(&place.directory, &place.name)
        .or_else(|_| sys::open_for_writing(&place.directory, &place.name));
    old.and_then(|old| {
        // The file may have been replaced in the meantime: the attributes of the replacement were not
        // checked.
        if sys::stat_handle(&old)?.identity() != stat.identity() {
            return Err(Errno::STALE);
        }
        attributes::preserve(old.as_fd(), stat, file.as_fd())
    })
    .is_ok()
}

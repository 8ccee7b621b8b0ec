//! Writing a file: all of it or nothing of it.
//!
//! Bytes go into a temporary file in the target's own directory, and `commit` renames it over the target, which keeps
//! its mode, owner and extended attributes. Dropping the writer before that removes the temporary file and every
//! directory that was made for it.
//!
//! A file that is a mount point, has several hard links, lies in a directory that may not be written, or whose owner
//! or attributes could not be given to a new file is overwritten in place instead, at `commit` and after its space has
//! been reserved, so that even then a cut-off upload leaves the old file. The outcome says which way it went.

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

/// How often a directory that is removed meanwhile is made anew.
const RACE_RETRIES: usize = 8;

/// What has to be true of the target, both when the upload begins and when it is put in place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Precondition {
    /// Nothing.
    #[default]
    None,
    /// It must not be there (`If-None-Match: *`).
    MustNotExist,
    /// It must be there, in any version (`If-Match: *`).
    MustExist,
    /// It must be there in one of these versions (`If-Match`).
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

/// How to write.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// What has to hold.
    pub precondition: Precondition,
    /// The most bytes that are taken; unlimited by default.
    pub max_bytes: Option<u64>,
}

/// How the bytes came into place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomicity {
    /// In one step: a reader sees the old file or the new one.
    Atomic,
    /// Over the old bytes, because the file could not be replaced.
    InPlace,
}

/// What a committed upload did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    /// The path as asked for.
    pub path: PathBuf,
    /// How many bytes the file has now.
    pub bytes_written: u64,
    /// Whether it was replaced in one step.
    pub atomic: Atomicity,
    /// Whether there was no file before.
    pub created: bool,
    /// The version that the file has now.
    pub etag: ETag,
}

/// An upload under way.
#[derive(Debug)]
pub struct AtomicWriter {
    service: FileService,
    place: Place,
    options: WriteOptions,
    spool: Spool,
    /// The mode that the target had at the beginning, should it be gone at the end.
    former_mode: Option<u32>,
    written: u64,
    /// Declared last, so that the temporary file is gone before its directory is to be removed.
    created: CreatedDirectories,
}

/// Where the bytes wait.
#[derive(Debug)]
struct Spool {
    file: File,
    /// The temporary file beside the target; without it the file has no name and vanishes by itself.
    beside: Option<Place>,
}

impl Drop for Spool {
    fn drop(&mut self) {
        if let Some(place) = self.beside.take() {
            // Nothing can be done about a failure here, and the name says whose it is.
            let _ = sys::unlink(&place.directory, &place.name);
        }
    }
}

impl FileService {
    /// Begins to write a file, following a final link, making missing parents.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for anything but a regular file in that place, [`Error::PreconditionFailed`],
    /// [`Error::PermissionDenied`], [`Error::NoSpace`], [`Error::OutsideRoot`], [`Error::BadName`].
    pub fn begin_write(&self, path: &UserPath, options: &WriteOptions) -> Result<AtomicWriter> {
        let located = self.tree().locate(path)?;
        if path.names_directory() {
            return Err(Error::bad_name(&located.shown, "it ends like a directory and cannot name a file"));
        }
        for _ in 0..RACE_RETRIES {
            match self.try_begin(&located, options) {
                // A parent was removed between being found and being used: another upload gave up and tidied.
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
                Ok(writer) => return Ok(writer),
            }
        }
        Err(Error::NotFound { path: located.shown })
    }

    fn try_begin(&self, located: &Located, options: &WriteOptions) -> Result<AtomicWriter> {
        let Some((parent, _)) = split(&located.inner) else {
            return Err(Error::bad_name(&located.shown, "it has to end in a name of its own"));
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
        // A private file must not be readable by others while it is uploaded anew.
        let mode = if found.is_some() { 0o600 } else { 0o666 };
        match sys::create_file(&place.directory, &name, mode) {
            Ok(file) => {
                let directory = rustix::io::fcntl_dupfd_cloexec(&place.directory, 0).at(&place.shown)?;
                let beside = Place { directory, name, shown: place.shown.clone() };
                Ok(Spool { file: file.into(), beside: Some(beside) })
            }
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) if found.is_some() => {
                let file = match &self.options().spool_directory {
                    Some(directory) => tempfile::tempfile_in(directory),
                    None => tempfile::tempfile(),
                };
                Ok(Spool { file: file.at(&place.shown)?, beside: None })
            }
            Err(error) => Err(Error::at(&place.shown, error)),
        }
    }
}

/// Replacing a file takes no permission on the file itself, so what `>` would be refused is refused here.
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
    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] past the limit, [`Error::NoSpace`]. The writer is of no more use then; drop it.
    pub fn write_chunk(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.written + bytes.len() as u64;
        if let Some(limit) = self.options.max_bytes.filter(|limit| written > *limit) {
            return Err(Error::TooLarge { limit });
        }
        self.spool.file.write_all(bytes).at(&self.place.shown)?;
        self.written = written;
        Ok(())
    }

    /// How many bytes have come so far.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Puts the file in place, one upload of a name at a time.
    ///
    /// # Errors
    /// [`Error::PreconditionFailed`] where the target has changed in a way that the precondition excludes,
    /// [`Error::NoSpace`], [`Error::Changed`]. The old file is as it was, unless overwriting in place itself failed.
    pub fn commit(mut self) -> Result<WriteOutcome> {
        let _guard = self.service.hold(&[&self.place])?;
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

    /// Renames the temporary file over the target; `None` where that would lose something of the old file.
    fn replace(&mut self, found: Option<&Stat>) -> Result<Option<File>> {
        let shown = &self.place.shown;
        let Some(beside) = &self.spool.beside else { return Ok(None) };
        if let Some(stat) = found {
            let mounted = sys::is_mount_point(&self.place.directory, &self.place.name, stat).at(shown)?;
            if stat.links() > 1 || mounted || !keep_attributes(&self.place, stat, &self.spool.file) {
                return Ok(None);
            }
        } else if let Some(mode) = self.former_mode {
            rustix::fs::fchmod(&self.spool.file, sys::mode_bits(mode)).at(shown)?;
        }
        match rename_over(beside.as_name(), self.place.as_name(), &self.options.precondition) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(Error::PreconditionFailed { path: shown.clone() }),
            Err(Errno::BUSY) => return Ok(None),
            Err(error) => return Err(Error::at(shown, error)),
        }
        self.spool.beside = None;
        self.spool.file.try_clone().at(shown).map(Some)
    }

    /// Copies the bytes over the old ones. The space is reserved before the first of them is touched.
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

/// A target that must not exist is also guarded against other processes, where the system can do that.
fn rename_over(from: Name<'_>, to: Name<'_>, precondition: &Precondition) -> rustix::io::Result<()> {
    if *precondition == Precondition::MustNotExist {
        match sys::rename_exclusive(from, to) {
            Err(Errno::NOSYS) => {}
            other => return other,
        }
    }
    sys::rename(from, to)
}

/// Whether the new file could be given everything that belongs to the old one.
fn keep_attributes(place: &Place, stat: &Stat, file: &File) -> bool {
    let old = sys::open_for_reading(&place.directory, &place.name)
        .or_else(|_| sys::open_for_writing(&place.directory, &place.name));
    old.and_then(|old| {
        // Somebody may have put another file there since: its attributes are not the ones that were checked.
        if sys::stat_handle(&old)?.identity() != stat.identity() {
            return Err(Errno::STALE);
        }
        attributes::keep(old.as_fd(), stat, file.as_fd())
    })
    .is_ok()
}

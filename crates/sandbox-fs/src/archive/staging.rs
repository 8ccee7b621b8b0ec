//! The folder inside the target where an archive is unpacked before it is checked.
//!
//! It is private to the server's user, removed when dropped, and only entered through open directories. Repeated
//! names replace each other as with `tar x`. A name below a link of the same archive is resolved by cap-std with
//! the staging folder as its root, so even a hostile link cannot lead elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cap_std::fs::Dir;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::names::EntryName;
use super::{Attributes, ExtractOptions, RejectReason};
use crate::attributes;
use crate::error::{At, Error, Result};
use crate::metadata::EntryType;
use crate::remove::remove_tree;
use crate::service::FileService;
use crate::sys::{self, Name};
use crate::temporaries::Noted;
use crate::timestamp::Timestamp;

/// Where the temporary names below the target are recorded.
#[derive(Debug)]
pub(super) enum Notes {
    /// The caller removes the whole target if unpacking does not finish.
    Nowhere,
    With {
        service: FileService,
        /// The path of the target, as the service opens it from its root.
        target: PathBuf,
    },
}

impl Notes {
    /// Records a name that is about to be created in a directory below the target.
    pub(super) fn note(&self, directory: &Path, name: &OsStr) -> Option<Noted> {
        match self {
            Self::Nowhere => None,
            Self::With { service, target } => service.note_temporary(&target.join(directory), name),
        }
    }
}

/// The maximum number of directories kept open from one entry to the next.
const CACHED_LEVELS: usize = 64;

#[derive(Debug)]
pub(super) struct Staging {
    target: OwnedFd,
    name: OsString,
    notes: Notes,
    /// The record of the folder's own name, dropped once the folder has been removed.
    _noted: Option<Noted>,
    top: Rc<OwnedFd>,
    /// The same folder, for following links inside it.
    confined: Dir,
    /// The open path to the last used directory, outermost first: archives are usually ordered by directory.
    cache: Vec<(OsString, Rc<OwnedFd>)>,
    shown: PathBuf,
    /// The mode bits that the process's umask leaves to a new directory.
    allowed_mode: u32,
    entries: u64,
    max_entries: Option<u64>,
    attributes: Attributes,
}

impl Staging {
    pub(super) fn create(
        target: OwnedFd,
        shown: &Path,
        notes: Notes,
        options: &ExtractOptions,
    ) -> Result<Self> {
        let name = sys::temporary_name("unpack");
        let noted = notes.note(Path::new(""), &name);
        sys::make_directory(&target, &name).at(shown)?;
        let opened = sys::open_for_reading(&target, &name).and_then(|top| {
            // Before access to the folder is restricted, its mode shows which bits of 0777 the umask leaves.
            let allowed = sys::stat_handle(&top)?.permissions() & 0o777;
            rustix::fs::fchmod(&top, sys::mode_bits(0o700))?;
            let confined = Dir::from_std_file(rustix::io::fcntl_dupfd_cloexec(&top, 0)?.into());
            Ok((top, allowed, confined))
        });
        let (top, allowed_mode, confined) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let _ = sys::remove_directory(&target, &name);
                return Err(Error::at(shown, error));
            }
        };
        let (top, cache, shown) = (Rc::new(top), Vec::new(), shown.to_path_buf());
        let (max_entries, attributes) = (options.limits.max_entries, options.attributes);
        Ok(Self {
            target,
            name,
            notes,
            _noted: noted,
            top,
            confined,
            cache,
            shown,
            allowed_mode,
            entries: 0,
            max_entries,
            attributes,
        })
    }

    pub(super) fn top(&self) -> &OwnedFd {
        &self.top
    }

    pub(super) fn target(&self) -> &OwnedFd {
        &self.target
    }

    pub(super) fn notes(&self) -> &Notes {
        &self.notes
    }

    pub(super) fn allowed_mode(&self) -> u32 {
        self.allowed_mode
    }

    /// Counts an entry, or an implied directory, against the limit.
    pub(super) fn count_entry(&mut self) -> Result<()> {
        self.entries += 1;
        match self.max_entries {
            Some(limit) if self.entries > limit => Err(Error::TooManyEntries { limit }),
            _ => Ok(()),
        }
    }

    /// Creates a file, replacing an earlier entry of the same name.
    pub(super) fn create_file(&mut self, entry: &EntryName, mode: u32) -> Result<File> {
        let (directory, name) = self.place(entry)?;
        loop {
            match sys::create_file(&*directory, name, mode & 0o777) {
                Ok(file) => {
                    if self.attributes == Attributes::Normalized {
                        let mode = sys::mode_bits(0o644 | mode & 0o111);
                        rustix::fs::fchmod(&file, mode).at(&self.shown)?;
                    }
                    return Ok(file.into());
                }
                Err(Errno::EXIST) => self.vacate(&directory, name, entry)?,
                Err(error) => return Err(self.explain(entry, error)),
            }
        }
    }

    /// Creates a directory, replacing an earlier entry of the same name unless that is a directory too.
    pub(super) fn make_directory(&mut self, entry: &EntryName) -> Result<()> {
        let (directory, name) = self.place(entry)?;
        loop {
            match self.new_directory(&directory, name) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => {
                    let found = sys::stat_name(&*directory, name).at(&self.shown)?;
                    if found.is_directory() {
                        return Ok(());
                    }
                    self.vacate(&directory, name, entry)?;
                }
                Err(error) => return Err(self.explain(entry, error)),
            }
        }
    }

    /// Creates a symbolic link unchecked; links are checked when all of them are known.
    pub(super) fn make_link(
        &mut self,
        entry: &EntryName,
        target: &OsStr,
        modified: Option<Timestamp>,
    ) -> Result<()> {
        let (directory, name) = self.place(entry)?;
        loop {
            match rustix::fs::symlinkat(target, &*directory, name) {
                Ok(()) => break,
                Err(Errno::EXIST) => self.vacate(&directory, name, entry)?,
                Err(error) => return Err(self.explain(entry, error)),
            }
        }
        let Some(modified) = modified else { return Ok(()) };
        let times = attributes::modified_at(modified);
        rustix::fs::utimensat(&*directory, name, &times, AtFlags::SYMLINK_NOFOLLOW).at(&self.shown)
    }

    /// Creates a hard link to an earlier file of the archive, or else to an existing file of the target.
    pub(super) fn make_hard_link(&mut self, entry: &EntryName, original: &EntryName) -> Result<()> {
        let outside = || RejectReason::HardLinkOutside { target: original.as_path().to_path_buf() };
        let reject = || Error::rejected(entry.as_path(), outside());
        let (directory, name) = self.place(entry)?;
        let (parent, last) = original.split().ok_or_else(reject)?;
        let way = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let staged = self.confined.open_dir(way).ok().map(|open| OwnedFd::from(open.into_std_file()));
        let (source, found, linkable) = match staged.map(|open| (sys::stat_name(&open, last), open)) {
            Some((Ok(found), open)) => (open, found, &[EntryType::File, EntryType::Symlink][..]),
            // An existing symbolic link may lead anywhere, so it must not get a second name elsewhere.
            _ => {
                let open = sys::open_below(&self.target, parent).map_err(|_| reject())?;
                let found = sys::stat_name(&open, last).map_err(|_| reject())?;
                (open, found, &[EntryType::File][..])
            }
        };
        if !linkable.contains(&found.entry_type()) {
            return Err(reject());
        }
        loop {
            match rustix::fs::linkat(&source, last, &*directory, name, AtFlags::empty()) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => {
                    let present = sys::stat_name(&*directory, name).at(&self.shown)?;
                    if present.identity() == found.identity() {
                        return Ok(());
                    }
                    self.vacate(&directory, name, entry)?;
                }
                Err(error @ (Errno::NOSPC | Errno::DQUOT)) => return Err(Error::at(&self.shown, error)),
                Err(_) => return Err(reject()),
            }
        }
    }

    fn new_directory(&self, parent: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
        sys::make_directory(parent, name)?;
        if self.attributes == Attributes::Normalized {
            rustix::fs::fchmod(sys::open_for_reading(parent, name)?, sys::mode_bits(0o755))?;
        }
        Ok(())
    }

    fn place<'a>(&mut self, entry: &'a EntryName) -> Result<(Rc<OwnedFd>, &'a OsStr)> {
        let (parent, name) =
            entry.split().ok_or_else(|| Error::rejected(entry.as_path(), RejectReason::BadName))?;
        Ok((self.open_parent(parent, entry)?, name))
    }

    /// Opens the directory of an entry, creating missing ones.
    fn open_parent(&mut self, parent: &Path, entry: &EntryName) -> Result<Rc<OwnedFd>> {
        let known =
            self.cache.iter().zip(parent.iter()).take_while(|((cached, _), name)| cached == name).count();
        self.cache.truncate(known);
        let mut current = self.cache.last().map_or_else(|| Rc::clone(&self.top), |(_, open)| Rc::clone(open));
        for (level, name) in parent.iter().enumerate().skip(known) {
            let next = match sys::open_directory(&*current, name) {
                Ok(next) => next,
                Err(Errno::NOENT) => {
                    self.count_entry()?;
                    self.new_directory(&current, name)
                        .and_then(|()| sys::open_directory(&*current, name))
                        .map_err(|error| self.explain(entry, error))?
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let way: PathBuf = parent.iter().take(level + 1).collect();
                    self.open_through_link(&current, name, &way, entry)?
                }
                Err(error) => return Err(self.explain(entry, error)),
            };
            current = Rc::new(next);
            if self.cache.len() == level && level < CACHED_LEVELS {
                self.cache.push((name.to_os_string(), Rc::clone(&current)));
            }
        }
        Ok(current)
    }

    fn open_through_link(
        &self,
        at: &OwnedFd,
        name: &OsStr,
        way: &Path,
        entry: &EntryName,
    ) -> Result<OwnedFd> {
        let found = sys::stat_name(at, name).at(&self.shown)?;
        if found.entry_type() != EntryType::Symlink {
            return Err(Error::rejected(entry.as_path(), RejectReason::ThroughFile));
        }
        match self.confined.open_dir(way) {
            Ok(directory) => Ok(directory.into_std_file().into()),
            Err(_) => Err(Error::rejected(entry.as_path(), RejectReason::ThroughLink)),
        }
    }

    /// Removes an earlier entry of the same name.
    fn vacate(&mut self, directory: &OwnedFd, name: &OsStr, entry: &EntryName) -> Result<()> {
        // The removed directory may be among those that are kept open.
        self.cache.clear();
        let removed = match sys::unlink(directory, name) {
            Err(Errno::ISDIR | Errno::PERM) => sys::remove_directory(directory, name),
            other => other,
        };
        match removed {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                let found = EntryType::Directory.described();
                Err(Error::rejected(entry.as_path(), RejectReason::Conflict { found }))
            }
            other => other.at(&self.shown),
        }
    }

    fn explain(&self, entry: &EntryName, error: Errno) -> Error {
        match error {
            Errno::NAMETOOLONG | Errno::ILSEQ | Errno::INVAL => {
                Error::rejected(entry.as_path(), RejectReason::BadName)
            }
            other => Error::at(&self.shown.join(entry.as_path()), other),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // A failure here cannot be handled; the leftover's name shows that it is temporary.
        let _ = remove_tree(Name { directory: self.target.as_fd(), name: &self.name }, &self.shown);
    }
}

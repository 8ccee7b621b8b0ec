//! Removing entries. A symbolic link is removed, never followed; a tree is taken down through open directories, so
//! that a link swapped in by somebody else cannot lead the removal elsewhere.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::{At, Error, Result};
use crate::path::UserPath;
use crate::service::FileService;
use crate::sys::{self, Name};
use crate::walk::{Visit, Visited, Visitor, walk};

/// How often a directory that somebody keeps filling is emptied anew.
const REFILL_RETRIES: usize = 8;

/// How much to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recursion {
    /// One entry; a directory has to be empty.
    Single,
    /// An entry with everything below it.
    Recursive,
}

impl FileService {
    /// Removes an entry and returns its path.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotEmpty`], [`Error::PermissionDenied`], [`Error::Protected`] for the workspace
    /// and what holds it. A recursive removal that fails half-way has removed the rest of what it came to.
    pub fn remove(&self, path: &UserPath, recursion: Recursion) -> Result<PathBuf> {
        let place = self.tree().place(&self.tree().locate(path)?)?;
        let _guard = self.hold(&[&place])?;
        let stat = place.stat()?;
        if self.tree().is_guarded(stat.identity()) {
            return Err(Error::Protected { path: place.shown });
        }
        match (stat.is_directory(), recursion) {
            (false, _) => sys::unlink(&place.directory, &place.name).at(&place.shown)?,
            // Some systems say EXIST for a directory that is not empty.
            (true, Recursion::Single) => match sys::remove_directory(&place.directory, &place.name) {
                Ok(()) => {}
                Err(Errno::NOTEMPTY | Errno::EXIST) => return Err(Error::NotEmpty { path: place.shown }),
                Err(error) => return Err(Error::at(&place.shown, error)),
            },
            (true, Recursion::Recursive) => remove_tree(place.as_name(), &place.shown)?,
        }
        Ok(place.shown)
    }
}

/// Takes down a directory, or removes whatever else has that name by now. A name that is gone already is fine.
pub(crate) fn remove_tree(target: Name<'_>, shown: &Path) -> Result<()> {
    for _ in 0..REFILL_RETRIES {
        match sys::open_directory(target.directory, target.name) {
            Ok(directory) => walk(directory, shown, &mut Remover { shown })?,
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTDIR | Errno::LOOP) => return sys::unlink(target.directory, target.name).at(shown),
            Err(error) => return Err(Error::at(shown, error)),
        }
        match sys::remove_directory(target.directory, target.name) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(Error::at(shown, error)),
        }
    }
    Err(Error::Changed { path: shown.to_path_buf() })
}

struct Remover<'a> {
    shown: &'a Path,
}

impl Visitor for Remover<'_> {
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit> {
        match sys::unlink(entry.directory.as_fd(), entry.name) {
            Ok(()) | Err(Errno::NOENT) => Ok(Visit::Next),
            // Linux says ISDIR for a directory, others PERM, which is also a real refusal: the kind tells.
            Err(error @ (Errno::ISDIR | Errno::PERM)) => match sys::stat_name(entry.directory, entry.name) {
                Ok(stat) if stat.is_directory() => Ok(Visit::Enter),
                Err(Errno::NOENT) => Ok(Visit::Next),
                _ => Err(Error::at(&self.shown.join(entry.path), error)),
            },
            Err(error) => Err(Error::at(&self.shown.join(entry.path), error)),
        }
    }

    fn leave(&mut self, directory: Visited<'_>) -> Result<()> {
        match sys::remove_directory(directory.directory, directory.name) {
            // Refilled or swapped by somebody else: the next round finds out.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
            Err(error) => Err(Error::at(&self.shown.join(directory.path), error)),
        }
    }
}

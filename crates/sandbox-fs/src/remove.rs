//! Removes entries. A symbolic link is removed, never followed. A tree is removed through open directories, so
//! that a link swapped in concurrently cannot redirect the removal.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::{At, Error, Result};
use crate::path::UserPath;
use crate::service::FileService;
use crate::sys::{self, Name};
use crate::walk::{Visit, Visited, Visitor, walk};

/// How often to retry when a directory is filled again while it is being removed.
const REFILL_RETRIES: usize = 8;

/// Whether to remove a directory's contents too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recursion {
    /// One entry; a directory must be empty.
    Single,
    /// An entry and everything below it.
    Recursive,
}

impl FileService {
    /// Removes an entry and returns its path.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotEmpty`], [`Error::PermissionDenied`], [`Error::Protected`] for the
    /// workspace and its parent directories. A recursive removal that fails has already removed the entries before
    /// the failure.
    pub fn remove(&self, path: &UserPath, recursion: Recursion) -> Result<PathBuf> {
        let place = self.tree().place(&self.tree().locate(path)?)?;
        let _guard = self.lock(&[&place])?;
        let stat = place.stat()?;
        if self.tree().is_protected(stat.identity()) {
            return Err(Error::Protected { path: place.shown });
        }
        match (stat.is_directory(), recursion) {
            (false, _) => sys::unlink(&place.directory, &place.name).at(&place.shown)?,
            // Some systems return EXIST for a directory that is not empty.
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

/// Removes a directory tree, or any other entry that has that name by now. A missing name is not an error.
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
            // For a directory, Linux returns ISDIR and others PERM, which can also be a real refusal: check the
            // kind.
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
            // The directory was filled or replaced concurrently: the next attempt handles it.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
            Err(error) => Err(Error::at(&self.shown.join(directory.path), error)),
        }
    }
}

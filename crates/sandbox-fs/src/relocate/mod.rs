//! Moves entries. A move never loses data, whichever step fails.
//!
//! A move is one rename if possible. Between devices it is a copy next to the target, which is synced and renamed
//! into place; then each source entry is removed if it is unchanged since the copy. A directory only replaces a
//! directory, and a non-directory only a non-directory.

mod cross_device;
mod rename;

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;

use crate::error::{At, Error, Result};
use crate::path::UserPath;
use crate::root::Place;
use crate::service::FileService;
use crate::sys::{self, Identity, Stat};

pub(crate) use rename::rename_into_place;

/// What happens to an existing target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// The target stays, and the move is refused.
    #[default]
    Refuse,
    /// The target is replaced, a directory with all its contents. It is removed only after the new entry is in
    /// place.
    Replace,
}

/// The result of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The former path of the entry.
    pub from: PathBuf,
    /// The new path of the entry.
    pub to: PathBuf,
}

impl FileService {
    /// Moves an entry to a new name. The target is the entry's new path, not a directory to move it into, and its
    /// parent must exist. A link is moved, not followed. Moving an entry onto itself, however spelled, does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IntoItself`], [`Error::Exists`], [`Error::WrongKind`] if only one of the two
    /// is a directory, [`Error::Protected`], [`Error::NoSpace`], [`Error::Changed`].
    pub fn move_entry(&self, from: &UserPath, to: &UserPath, overwrite: Overwrite) -> Result<Moved> {
        let source = self.tree().place(&self.tree().locate(from)?)?;
        let target = self.tree().place(&self.tree().locate(to)?)?;
        let _guard = self.lock(&[&source, &target])?;
        let stat = source.stat()?;
        let found = target.find()?;
        let moved = Moved { from: source.shown.clone(), to: target.shown.clone() };
        if is_same_entry(&source, &stat, &target, found.as_ref())? {
            return Ok(moved);
        }
        let protected = |stat: &Stat| self.tree().is_protected(stat.identity());
        if protected(&stat) {
            return Err(Error::Protected { path: source.shown });
        }
        if overwrite == Overwrite::Replace && found.as_ref().is_some_and(protected) {
            return Err(Error::Protected { path: target.shown });
        }
        check_nesting(&source, &stat, &target, found.as_ref())?;
        if let Some(found) = &found {
            if overwrite == Overwrite::Refuse {
                return Err(Error::Exists { path: target.shown });
            }
            if found.identity() == stat.identity() {
                // For two hard links of one file, `rename` would keep both, but the user expects the old name to
                // be removed.
                sys::unlink(&source.directory, &source.name).at(&source.shown)?;
                return Ok(moved);
            }
        }
        match rename_into_place(source.as_name(), target.as_name(), overwrite, &target.shown) {
            Err(Error::Io { source: error, .. }) if Errno::from_io_error(&error) == Some(Errno::XDEV) => {
                cross_device::move_across_devices(self, &source, &target, overwrite)?;
            }
            Err(Error::NotFound { .. }) => return Err(Error::NotFound { path: source.shown }),
            other => other?,
        }
        Ok(moved)
    }
}

/// Whether both are the same name in the same directory, or two spellings of one name on a case-insensitive file
/// system.
fn is_same_entry(source: &Place, stat: &Stat, target: &Place, found: Option<&Stat>) -> Result<bool> {
    let Some(found) = found.filter(|found| found.identity() == stat.identity()) else { return Ok(false) };
    let parents = [
        sys::stat_handle(&source.directory).at(&source.shown)?.identity(),
        sys::stat_handle(&target.directory).at(&target.shown)?.identity(),
    ];
    let same_name = parents[0] == parents[1] && source.name == target.name;
    // Without a second hard link, an inode has one name, whatever its case; a directory always has one.
    Ok(same_name || found.is_directory() || (parents[0] == parents[1] && found.links() == 1))
}

/// Refuses a target inside the source, and a source inside a target that would be replaced.
fn check_nesting(source: &Place, stat: &Stat, target: &Place, found: Option<&Stat>) -> Result<()> {
    let nested = || Error::IntoItself { from: source.shown.clone(), to: target.shown.clone() };
    if stat.is_directory() && lies_within(&target.directory, stat.identity()).at(&target.shown)? {
        return Err(nested());
    }
    if let Some(found) = found.filter(|found| found.is_directory())
        && lies_within(&source.directory, found.identity()).at(&source.shown)?
    {
        return Err(nested());
    }
    Ok(())
}

/// Whether a directory is `ancestor` or below it. Walks up and reads no directory.
fn lies_within(directory: &OwnedFd, ancestor: Identity) -> rustix::io::Result<bool> {
    let mut current = rustix::io::fcntl_dupfd_cloexec(directory.as_fd(), 0)?;
    let mut identity = sys::stat_handle(&current)?.identity();
    loop {
        if identity == ancestor {
            return Ok(true);
        }
        let parent = match sys::open_parent(&current) {
            Ok(parent) => parent,
            // The parent cannot be opened, so it cannot be the source either.
            Err(Errno::ACCESS | Errno::NOENT) => return Ok(false),
            Err(error) => return Err(error),
        };
        let above = sys::stat_handle(&parent)?.identity();
        if above == identity {
            return Ok(false);
        }
        (current, identity) = (parent, above);
    }
}

//! Moving entries. Whatever fails, every byte is still under one of its names.
//!
//! A move is one rename where that is possible. Between devices it is a copy beside the target, synced, renamed into
//! place, and only then is the source removed, each entry after a look that it is still what was copied.
//! A directory is only ever replaced by a directory, anything else only by something that is no directory.

mod across;
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

/// What happens to a target that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// It stays, and the move is refused.
    #[default]
    Refuse,
    /// It is replaced, a directory with all that is in it. It is only removed once the new one is in place.
    Replace,
}

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Its former path.
    pub from: PathBuf,
    /// Its new path.
    pub to: PathBuf,
}

impl FileService {
    /// Moves an entry to a new name, which is the entry's own and not a directory to put it in. A link is moved, not
    /// followed. Onto itself, however spelled, it does nothing. The target's parent has to exist.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IntoItself`], [`Error::Exists`], [`Error::WrongKind`] where one is a directory and
    /// the other is not, [`Error::Protected`], [`Error::NoSpace`], [`Error::Changed`].
    pub fn move_entry(&self, from: &UserPath, to: &UserPath, overwrite: Overwrite) -> Result<Moved> {
        let source = self.tree().place(&self.tree().locate(from)?)?;
        let target = self.tree().place(&self.tree().locate(to)?)?;
        let _guard = self.hold(&[&source, &target])?;
        let stat = source.stat()?;
        let found = target.find()?;
        let moved = Moved { from: source.shown.clone(), to: target.shown.clone() };
        if is_same_entry(&source, &stat, &target, found.as_ref())? {
            return Ok(moved);
        }
        let guarded = |stat: &Stat| self.tree().is_guarded(stat.identity());
        if guarded(&stat) {
            return Err(Error::Protected { path: source.shown });
        }
        if overwrite == Overwrite::Replace && found.as_ref().is_some_and(guarded) {
            return Err(Error::Protected { path: target.shown });
        }
        check_nesting(&source, &stat, &target, found.as_ref())?;
        if let Some(found) = &found {
            if overwrite == Overwrite::Refuse {
                return Err(Error::Exists { path: target.shown });
            }
            if found.identity() == stat.identity() {
                // Two hard links of one file: the rename call would leave both, a user expects the old name to go.
                sys::unlink(&source.directory, &source.name).at(&source.shown)?;
                return Ok(moved);
            }
        }
        match rename_into_place(source.as_name(), target.as_name(), overwrite, &target.shown) {
            Err(Error::Io { source: error, .. }) if Errno::from_io_error(&error) == Some(Errno::XDEV) => {
                across::move_across(&source, &target, overwrite)?;
            }
            Err(Error::NotFound { .. }) => return Err(Error::NotFound { path: source.shown }),
            other => other?,
        }
        Ok(moved)
    }
}

/// Whether both are one name in one directory, or two spellings that the file system takes for one.
fn is_same_entry(source: &Place, stat: &Stat, target: &Place, found: Option<&Stat>) -> Result<bool> {
    let Some(found) = found.filter(|found| found.identity() == stat.identity()) else { return Ok(false) };
    let parents = [
        sys::stat_handle(&source.directory).at(&source.shown)?.identity(),
        sys::stat_handle(&target.directory).at(&target.shown)?.identity(),
    ];
    let same_name = parents[0] == parents[1] && source.name == target.name;
    // Without a second hard link, one inode has one name, whatever its case; a directory always does.
    Ok(same_name || found.is_directory() || (parents[0] == parents[1] && found.links() == 1))
}

/// Refuses a target inside of the source, and a source inside of a target that would be replaced.
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

/// Whether a directory is another one or lies anywhere below it, by walking up; nothing is read on the way.
fn lies_within(directory: &OwnedFd, ancestor: Identity) -> rustix::io::Result<bool> {
    let mut current = rustix::io::fcntl_dupfd_cloexec(directory.as_fd(), 0)?;
    let mut identity = sys::stat_handle(&current)?.identity();
    loop {
        if identity == ancestor {
            return Ok(true);
        }
        let parent = match sys::open_parent(&current) {
            Ok(parent) => parent,
            // What lies above may not be looked at, so it cannot be the source either.
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

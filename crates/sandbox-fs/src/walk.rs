//! Walking a tree by open directories, never by paths and never through a link.
//!
//! A tree may be deeper than the process may have files open, and hostile hands may move directories while they are
//! walked. [`Descent`] therefore keeps only the innermost handles, and on the way up it checks that `..` is still the
//! directory it came from; where it is not, the walk ends instead of continuing somewhere else.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::{At, Error, Result};
use crate::sys::{self, Identity};

/// Handles kept open in one walk.
const OPEN_LEVELS: usize = 64;

/// A way down into a tree and back up.
#[derive(Debug)]
pub(crate) struct Descent {
    /// Above the current directory, outermost first; the outermost always has its handle.
    above: Vec<Level>,
    current: OwnedFd,
}

#[derive(Debug)]
struct Level {
    identity: Identity,
    handle: Option<OwnedFd>,
}

impl Descent {
    pub(crate) fn new(start: OwnedFd) -> Self {
        Self { above: Vec::new(), current: start }
    }

    pub(crate) fn current(&self) -> BorrowedFd<'_> {
        self.current.as_fd()
    }

    /// Goes into a sub-directory; a link in its place is an error.
    pub(crate) fn enter(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        let next = sys::open_directory(&self.current, name)?;
        let identity = sys::stat_handle(&self.current)?.identity();
        let handle = std::mem::replace(&mut self.current, next);
        self.above.push(Level { identity, handle: Some(handle) });
        let depth = self.above.len();
        if depth > OPEN_LEVELS {
            let far = depth - OPEN_LEVELS;
            // The outermost stays open, so that the walk always ends where it began.
            if far > 0 {
                self.above[far].handle = None;
            }
        }
        Ok(())
    }

    /// Goes back up; `STALE` where the directory has been moved elsewhere meanwhile.
    pub(crate) fn leave(&mut self) -> rustix::io::Result<()> {
        let Some(level) = self.above.pop() else { return Ok(()) };
        self.current = match level.handle {
            Some(handle) => handle,
            None => {
                let parent = sys::open_parent(&self.current)?;
                if sys::stat_handle(&parent)?.identity() != level.identity {
                    return Err(Errno::STALE);
                }
                parent
            }
        };
        Ok(())
    }
}

/// What to do with an entry that the walk has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    /// It is a directory: look inside, then call `leave` for it.
    Enter,
    /// Done with it.
    Next,
}

/// An entry under a walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visited<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
    /// Relative to where the walk began.
    pub(crate) path: &'a Path,
}

/// What a walk does at each entry.
pub(crate) trait Visitor {
    /// Called for every entry, before what is inside of it.
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit>;
    /// Called for every directory that was entered, after what is inside of it.
    fn leave(&mut self, directory: Visited<'_>) -> Result<()>;
}

/// Walks everything below `start`, names sorted, with `shown` for the names in errors.
pub(crate) fn walk(start: OwnedFd, shown: &Path, visitor: &mut impl Visitor) -> Result<()> {
    let mut path = PathBuf::new();
    let mut descent = Descent::new(start);
    let mut pending = vec![sorted_names(descent.current(), shown)?];
    let mut entered: Vec<OsString> = Vec::new();
    while let Some(names) = pending.last_mut() {
        if let Some(name) = names.pop() {
            path.push(&name);
            let visit = visitor.entry(Visited { directory: descent.current(), name: &name, path: &path })?;
            if visit == Visit::Enter {
                match descent.enter(&name) {
                    Ok(()) => {
                        pending.push(sorted_names(descent.current(), &shown.join(&path))?);
                        entered.push(name);
                        continue;
                    }
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                        return Err(Error::Changed { path: shown.join(&path) });
                    }
                    Err(error) => return Err(Error::at(&shown.join(&path), error)),
                }
            }
            path.pop();
        } else {
            pending.pop();
            if let Some(name) = entered.pop() {
                match descent.leave() {
                    Ok(()) => {}
                    Err(Errno::STALE) => return Err(Error::Changed { path: shown.join(&path) }),
                    Err(error) => return Err(Error::at(&shown.join(&path), error)),
                }
                visitor.leave(Visited { directory: descent.current(), name: &name, path: &path })?;
                path.pop();
            }
        }
    }
    Ok(())
}

/// The names in a directory, last first, so that they are taken off the end in order.
fn sorted_names(directory: BorrowedFd<'_>, shown: &Path) -> Result<Vec<OsString>> {
    let mut names = sys::names(directory).at(shown)?.collect::<rustix::io::Result<Vec<_>>>().at(shown)?;
    names.sort_unstable_by(|one, other| other.cmp(one));
    Ok(names)
}

//! Walks a tree by open directories, never by paths and never through a link.
//!
//! A tree may be deeper than the limit on open files, and another process may move directories during the walk.
//! [`Descent`] therefore keeps only the innermost handles open. On the way up it checks that `..` is still the
//! directory it came from, and ends the walk if it is not.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::{At, Error, Result};
use crate::sys::{self, Identity};

/// The maximum number of open handles in one walk.
const OPEN_LEVELS: usize = 64;

/// A position in a tree that can move down and up.
#[derive(Debug)]
pub(crate) struct Descent {
    /// The parents of the current directory, outermost first; the outermost is always open.
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

    /// Enters a sub-directory; a link with that name is an error.
    pub(crate) fn enter(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        let next = sys::open_directory(&self.current, name)?;
        let identity = sys::stat_handle(&self.current)?.identity();
        let handle = std::mem::replace(&mut self.current, next);
        self.above.push(Level { identity, handle: Some(handle) });
        let depth = self.above.len();
        if depth > OPEN_LEVELS {
            let far = depth - OPEN_LEVELS;
            // The outermost stays open, so that the walk always ends in its start directory.
            if far > 0 {
                self.above[far].handle = None;
            }
        }
        Ok(())
    }

    /// Returns to the parent; `STALE` if the directory was moved in the meantime.
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

/// What to do next with a visited entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    /// Enter the directory, then call `leave` for it.
    Enter,
    /// Continue with the next entry.
    Next,
}

/// A visited entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visited<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
    /// The path relative to the start of the walk.
    pub(crate) path: &'a Path,
}

/// The callbacks of a walk.
pub(crate) trait Visitor {
    /// Called for every entry, before its contents.
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit>;
    /// Called for every entered directory, after its contents.
    fn leave(&mut self, directory: Visited<'_>) -> Result<()>;
}

/// Walks everything below `start` in sorted order; `shown` is the path used in errors.
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

/// The names in a directory in reverse order, so that they can be popped in order.
fn sorted_names(directory: BorrowedFd<'_>, shown: &Path) -> Result<Vec<OsString>> {
    let mut names = sys::names(directory).at(shown)?.collect::<rustix::io::Result<Vec<_>>>().at(shown)?;
    names.sort_unstable_by(|one, other| other.cmp(one));
    Ok(names)
}

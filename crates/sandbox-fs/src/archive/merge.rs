//! Moves a checked staging folder over its target, entry by entry, without following existing links.
//!
//! Entries that the target does not have are moved with one rename, whole directories at once. For names that
//! exist, the rules are those of `tar x`: directories are merged, files and links are replaced, an empty directory
//! is replaced by a file, and a directory of the archive replaces a file or link. All conflicts are checked before
//! the first entry is moved.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;

use super::RejectReason;
use super::extract::DirectoryAttributes;
use super::names::EntryName;
use super::staging::Staging;
use crate::copy::copy_entry;
use crate::error::{At, Error, Result};
use crate::metadata::EntryType;
use crate::relocate::{Overwrite, rename_into_place};
use crate::remove::remove_tree;
use crate::sys::{self, Name, Stat};
use crate::temporaries::Noted;
use crate::walk::{Descent, Visit, Visited, Visitor, walk};

type Directories = BTreeMap<EntryName, DirectoryAttributes>;

/// Refuses the archive if any of its entries cannot be moved into place.
pub(super) fn check(staging: &Staging, directories: &Directories, shown: &Path) -> Result<()> {
    run(staging, directories, shown, Mode::Check)
}

/// Moves all entries into place.
pub(super) fn merge(staging: &Staging, directories: &Directories, shown: &Path) -> Result<()> {
    run(staging, directories, shown, Mode::Move)
}

fn run(staging: &Staging, directories: &Directories, shown: &Path, mode: Mode) -> Result<()> {
    let top = rustix::io::fcntl_dupfd_cloexec(staging.top(), 0).at(shown)?;
    let target = rustix::io::fcntl_dupfd_cloexec(staging.target(), 0).at(shown)?;
    walk(top, shown, &mut Merger { staging, directories, shown, mode, target: Descent::new(target) })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Check,
    Move,
}

/// How to combine an entry with the target's entry of the same name.
#[derive(Debug, PartialEq, Eq)]
enum Meeting {
    /// Both are directories.
    Merge,
    /// Neither is a directory.
    Replace,
    /// A file or link replaces a directory, which must be empty.
    ReplaceDirectory,
    /// A directory replaces a file or link.
    Swap,
}

struct Merger<'a> {
    staging: &'a Staging,
    directories: &'a Directories,
    shown: &'a Path,
    mode: Mode,
    /// The directory of the target that corresponds to the current position of the walk.
    target: Descent,
}

impl Visitor for Merger<'_> {
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit> {
        let shown = self.shown.join(entry.path);
        let from = Name { directory: entry.directory, name: entry.name };
        let to = Name { directory: self.target.current(), name: entry.name };
        let move_single = || {
            let parent = entry.path.parent().unwrap_or(Path::new(""));
            move_single(from, to, &shown, |temporary| self.staging.notes().note(parent, temporary))
        };
        if self.mode == Mode::Move {
            match sys::rename_exclusive(from, to) {
                Ok(()) => return Ok(Visit::Next),
                // The name exists, needs the checks below, or is on another device.
                Err(Errno::EXIST | Errno::NOSYS | Errno::XDEV) => {}
                Err(error) => return Err(Error::at(&shown, error)),
            }
        }
        let Some(found) = sys::find_name(to.directory, to.name).at(&shown)? else {
            if self.mode == Mode::Move {
                move_single()?;
            }
            return Ok(Visit::Next);
        };
        let staged = sys::stat_name(from.directory, from.name).at(&shown)?;
        let meeting = self.meet(&staged, &found, entry.path)?;
        match (self.mode, meeting) {
            (_, Meeting::Merge) => {
                self.target.enter(entry.name).at(&shown)?;
                return Ok(Visit::Enter);
            }
            (Mode::Check, Meeting::ReplaceDirectory) => check_empty(to, entry.path, &shown)?,
            (Mode::Check, Meeting::Replace | Meeting::Swap) => {}
            (Mode::Move, Meeting::Replace) => move_single()?,
            (Mode::Move, Meeting::ReplaceDirectory) => {
                sys::remove_directory(to.directory, to.name).at(&shown)?;
                move_single()?;
            }
            (Mode::Move, Meeting::Swap) => swap(from, to, &shown, move_single)?,
        }
        Ok(Visit::Next)
    }

    fn leave(&mut self, directory: Visited<'_>) -> Result<()> {
        self.target.leave().at(&self.shown.join(directory.path))
    }
}

impl Merger<'_> {
    fn meet(&self, staged: &Stat, found: &Stat, path: &Path) -> Result<Meeting> {
        match (staged.is_directory(), found.is_directory()) {
            (true, true) => Ok(Meeting::Merge),
            (false, false) => Ok(Meeting::Replace),
            (false, true) => Ok(Meeting::ReplaceDirectory),
            (true, false) => {
                if self.directories.contains_key(&EntryName::of_plain(path)) {
                    return Ok(Meeting::Swap);
                }
                // The archive contains this directory only as a part of longer names, so the existing entry
                // stays.
                let reason = match found.entry_type() {
                    EntryType::Symlink => RejectReason::ThroughLink,
                    _ => RejectReason::ThroughFile,
                };
                Err(Error::rejected(path, reason))
            }
        }
    }
}

fn check_empty(directory: Name<'_>, path: &Path, shown: &Path) -> Result<()> {
    let open = sys::open_directory(directory.directory, directory.name).at(shown)?;
    if sys::names(open.as_fd()).at(shown)?.next().is_some() {
        let reason = RejectReason::Conflict { found: EntryType::Directory.described() };
        return Err(Error::rejected(path, reason));
    }
    Ok(())
}

/// Renames, or copies if a directory of the target is on another device.
fn move_single(
    from: Name<'_>,
    to: Name<'_>,
    shown: &Path,
    note: impl FnOnce(&OsStr) -> Option<Noted>,
) -> Result<()> {
    match sys::rename(from, to) {
        Err(Errno::XDEV) => {}
        other => return other.at(shown),
    }
    let temporary = sys::temporary_name("unpack");
    let _noted = note(&temporary);
    let beside = Name { directory: to.directory, name: &temporary };
    let placed = copy_entry(from, beside, shown)
        .and_then(|()| rename_into_place(beside, to, Overwrite::Replace, shown));
    if placed.is_err() {
        let _ = remove_tree(beside, shown);
    }
    placed
}

/// Puts a directory in the place of a file or link, which is removed with the staging folder.
fn swap(from: Name<'_>, to: Name<'_>, shown: &Path, move_single: impl FnOnce() -> Result<()>) -> Result<()> {
    match sys::exchange(from, to) {
        Err(Errno::NOSYS | Errno::XDEV) => {
            sys::unlink(to.directory, to.name).at(shown)?;
            move_single()
        }
        other => other.at(shown),
    }
}

//! Moves to another device: copies, syncs, renames into place, and only then removes the source.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;

use super::{Overwrite, rename_into_place};
use crate::copy::{self, copy_entry, is_unchanged};
use crate::error::{At, Error, Result};
use crate::remove::remove_tree;
use crate::root::Place;
use crate::service::FileService;
use crate::sys::{self, Name};
use crate::walk::{Descent, Visit, Visited, Visitor, walk};

pub(super) fn move_across_devices(
    service: &FileService,
    source: &Place,
    target: &Place,
    overwrite: Overwrite,
) -> Result<()> {
    // A source that cannot be removed afterwards is refused before anything is copied.
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(&source.directory, ".", rights, AtFlags::EACCESS).at(&source.shown)?;
    let temporary = sys::temporary_name("move");
    let _noted = service.note_temporary(&target.parent, &temporary);
    let staged = Name { directory: target.directory.as_fd(), name: &temporary };
    let placed = copy_entry(source.as_name(), staged, &source.shown)
        .map_err(|error| match error {
            // The target's device is full, not the source's.
            Error::NoSpace { .. } => Error::NoSpace { path: target.shown.clone() },
            other => copy::changed(other, &source.shown),
        })
        .and_then(|()| sys::sync_file_system(staged.directory).at(&target.shown))
        .and_then(|()| rename_into_place(staged, target.as_name(), overwrite, &target.shown))
        .and_then(|()| sys::sync_file_system(staged.directory).at(&target.shown));
    if let Err(error) = placed {
        // The source is intact. A failure to clean up would not change the error.
        let _ = remove_tree(staged, &target.shown);
        return Err(error);
    }
    remove_copied(source, target)
}

/// Removes the source, entry by entry, as far as it is unchanged since the copy.
fn remove_copied(source: &Place, target: &Place) -> Result<()> {
    let stat = source.stat()?;
    let copied = target.stat()?;
    if !stat.is_directory() {
        if !is_unchanged(&stat, &copied) {
            return Err(Error::Changed { path: source.shown.clone() });
        }
        return sys::unlink(&source.directory, &source.name).at(&source.shown);
    }
    let directory = sys::open_directory(&source.directory, &source.name).at(&source.shown)?;
    let copy = sys::open_directory(&target.directory, &target.name).at(&target.shown)?;
    let mut remover = CopiedRemover { shown: &source.shown, copy: Descent::new(copy) };
    walk(directory, &source.shown, &mut remover)?;
    remove_emptied(source.as_name(), &source.shown)
}

struct CopiedRemover<'a> {
    shown: &'a Path,
    /// The directory of the copy that corresponds to the current position of the walk.
    copy: Descent,
}

impl Visitor for CopiedRemover<'_> {
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit> {
        let shown = self.shown.join(entry.path);
        let stat = sys::stat_name(entry.directory, entry.name).at(&shown)?;
        let copied = sys::find_name(self.copy.current(), entry.name).at(&shown)?;
        let Some(copied) = copied else { return Err(Error::Changed { path: shown }) };
        if stat.is_directory() && copied.is_directory() {
            self.copy.enter(entry.name).at(&shown)?;
            return Ok(Visit::Enter);
        }
        if !is_unchanged(&stat, &copied) {
            return Err(Error::Changed { path: shown });
        }
        sys::unlink(entry.directory, entry.name).at(&shown)?;
        Ok(Visit::Next)
    }

    fn leave(&mut self, directory: Visited<'_>) -> Result<()> {
        let shown = self.shown.join(directory.path);
        self.copy.leave().at(&shown)?;
        remove_emptied(Name { directory: directory.directory, name: directory.name }, &shown)
    }
}

/// Removes an emptied directory. Entries that were added since the copy stay.
fn remove_emptied(directory: Name<'_>, shown: &Path) -> Result<()> {
    match sys::remove_directory(directory.directory, directory.name) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => Err(Error::Changed { path: shown.to_path_buf() }),
        other => other.at(shown),
    }
}

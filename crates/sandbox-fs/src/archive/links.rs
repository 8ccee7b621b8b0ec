//! Checks that symbolic links stay inside the target, now and after any later archive.
//!
//! A link is checked at its final location. If its target first goes up and then only down, it stays inside,
//! even if the directories on the way are replaced, as long as all other links do so too. Going up after a
//! name is different: `a/b/../..` is the target directory itself while `a/b` is a directory, but leads
//! outside once another archive has replaced `a/b` with a link to `..`. So a link may go up only from a
//! directory that no archive can replace: one that is not empty.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::RejectReason;
use super::staging::Staging;
use crate::error::{At, Error, Result};
use crate::metadata::EntryType;
use crate::path::split;
use crate::sys;
use crate::walk::{Visit, Visited, Visitor, walk};

/// Rejects the archive if one of its links could lead outside the target.
pub(super) fn check(staging: &Staging, shown: &Path) -> Result<()> {
    let top = rustix::io::fcntl_dupfd_cloexec(staging.top(), 0).at(shown)?;
    walk(top, shown, &mut LinkVisitor { staging, shown })
}

struct LinkVisitor<'a> {
    staging: &'a Staging,
    shown: &'a Path,
}

impl Visitor for LinkVisitor<'_> {
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit> {
        let stat = sys::stat_name(entry.directory, entry.name).at(self.shown)?;
        match stat.entry_type() {
            EntryType::Directory => return Ok(Visit::Enter),
            EntryType::Symlink => {
                let target = PathBuf::from(sys::read_link(entry.directory, entry.name).at(self.shown)?);
                if !stays_inside(entry.path, &target, |path| is_settled(self.staging, path)) {
                    return Err(Error::rejected(entry.path, RejectReason::LinkOutside { target }));
                }
            }
            EntryType::File | EntryType::Other => {}
        }
        Ok(Visit::Next)
    }

    fn leave(&mut self, _: Visited<'_>) -> Result<()> {
        Ok(())
    }
}

/// True if a link cannot lead outside. `is_settled` returns whether a path is a directory that no archive can
/// replace.
fn stays_inside(link: &Path, target: &Path, mut is_settled: impl FnMut(&Path) -> bool) -> bool {
    let mut reached = link.parent().map(Path::to_path_buf).unwrap_or_default();
    let components: Vec<_> = target.components().collect();
    let ups = components.iter().rposition(|component| *component == Component::ParentDir);
    for (index, component) in components.iter().enumerate() {
        match component {
            Component::Normal(name) => {
                reached.push(name);
                if ups.is_some_and(|last| index < last) && !is_settled(&reached) {
                    return false;
                }
            }
            Component::ParentDir => {
                if !reached.pop() {
                    return false;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// True if a directory is not empty, so that no archive can replace it.
fn is_settled(staging: &Staging, path: &Path) -> bool {
    let Some((parent, name)) = split(path) else { return false };
    let of_archive = sys::open_below(staging.top(), parent).and_then(|parent| sys::find_name(parent, name));
    match of_archive {
        Ok(Some(stat)) if !stat.is_directory() => false,
        Ok(Some(_)) if has_entries(staging.top(), path) => true,
        _ => has_entries(staging.target(), path),
    }
}

fn has_entries(top: &std::os::fd::OwnedFd, path: &Path) -> bool {
    let names = sys::open_below(top, path).and_then(sys::names);
    // Ignore the staging folder of another archive, which is temporary.
    let lasts = |name: &OsStr| !sys::is_temporary(name);
    names.is_ok_and(|mut names| names.any(|name| name.is_ok_and(|name| lasts(&name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(link: &str, target: &str) -> bool {
        stays_inside(Path::new(link), Path::new(target), |path| path.starts_with("full"))
    }

    #[test]
    fn links_that_go_up_and_then_down_stay_inside() {
        assert!(inside("a", "b"));
        assert!(inside("d/e/a", "../../b"));
        assert!(inside("a", "missing/./x"));
        assert!(inside("d/a", ".././b/c"));
    }

    #[test]
    fn links_out_of_the_tree_leave_it() {
        assert!(!inside("a", ".."));
        assert!(!inside("a", "/etc/passwd"));
        assert!(!inside("d/a", "../../x"));
        assert!(!inside("a", "full/../../x"));
    }

    #[test]
    fn going_up_is_only_safe_from_a_directory_that_cannot_become_a_link() {
        assert!(inside("a", "full/../b"));
        assert!(inside("a", "full/full/../../b"));
        assert!(!inside("a", "empty/../b"));
        assert!(!inside("a", "full/../empty/../b"));
    }
}

//! Renaming one name to another under an overwrite policy, each way in as few steps as the system allows.
//!
//! Refusing is atomic: `RENAME_NOREPLACE`, or a hard link, or a placeholder that nobody else can have made. Replacing a
//! directory that is not empty swaps the two and then removes the old one.

use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::Overwrite;
use crate::error::{At, Error, Result};
use crate::remove::remove_tree;
use crate::sys::{self, Name};

/// Puts `from` where `to` is. `XDEV` comes back as [`Error::Io`] with nothing changed.
pub(crate) fn rename_into_place(
    from: Name<'_>,
    to: Name<'_>,
    overwrite: Overwrite,
    shown: &Path,
) -> Result<()> {
    if overwrite == Overwrite::Refuse {
        return rename_new(from, to).at(shown);
    }
    let source = sys::stat_name(from.directory, from.name).at(shown)?;
    let Some(target) = sys::find_name(to.directory, to.name).at(shown)? else {
        return match rename_new(from, to) {
            // It has appeared since: it is to be replaced like any other.
            Err(Errno::EXIST) => Err(Error::Changed { path: shown.to_path_buf() }),
            other => other.at(shown),
        };
    };
    if source.is_directory() != target.is_directory() {
        return Err(Error::WrongKind {
            path: shown.to_path_buf(),
            found: target.entry_type().described(),
            needed: if source.is_directory() { "a directory, like what is moved" } else { "no directory" },
        });
    }
    match sys::rename(from, to) {
        Err(Errno::NOTEMPTY | Errno::EXIST) if source.is_directory() => replace_directory(from, to, shown),
        other => other.at(shown),
    }
}

/// Swaps two directories and takes the old one down; where a swap is not to be had, the old one steps aside.
fn replace_directory(from: Name<'_>, to: Name<'_>, shown: &Path) -> Result<()> {
    let aside = sys::temporary_name("replaced");
    match sys::exchange(from, to) {
        Ok(()) => {
            // From here on the move is done; the old contents leave the source's name before they are removed.
            let old = Name { directory: from.directory, name: &aside };
            sys::rename(from, old).at(shown)?;
            remove_tree(old, shown)
        }
        Err(Errno::NOSYS) => {
            let old = Name { directory: to.directory, name: &aside };
            sys::rename(to, old).at(shown)?;
            if let Err(error) = rename_new(from, to) {
                // Back to its name, unless somebody else has taken it: then it stays beside it rather than be lost.
                let _ = rename_new(old, to);
                return Err(Error::at(shown, error));
            }
            remove_tree(old, shown)
        }
        Err(error) => Err(Error::at(shown, error)),
    }
}

/// Renames to a name that must be free.
pub(crate) fn rename_new(from: Name<'_>, to: Name<'_>) -> rustix::io::Result<()> {
    match sys::rename_exclusive(from, to) {
        Err(Errno::NOSYS) => {}
        other => return other,
    }
    if sys::stat_name(from.directory, from.name)?.is_directory() {
        // An empty directory may be replaced by another, so one of our own making keeps the name free of others.
        sys::make_directory(to.directory, to.name)?;
        return match sys::rename(from, to) {
            Err(Errno::NOTEMPTY) => Err(Errno::EXIST),
            Err(error) => {
                let _ = sys::remove_directory(to.directory, to.name);
                Err(error)
            }
            Ok(()) => Ok(()),
        };
    }
    match rustix::fs::linkat(from.directory, from.name, to.directory, to.name, AtFlags::empty()) {
        Ok(()) => sys::unlink(from.directory, from.name).inspect_err(|_| {
            let _ = sys::unlink(to.directory, to.name);
        }),
        // No hard links here: a file of our own making keeps the name until it is replaced.
        Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS | Errno::MLINK | Errno::ACCESS) => {
            drop(sys::create_file(to.directory, to.name, 0o600)?);
            sys::rename(from, to).inspect_err(|_| {
                let _ = sys::unlink(to.directory, to.name);
            })
        }
        Err(error) => Err(error),
    }
}

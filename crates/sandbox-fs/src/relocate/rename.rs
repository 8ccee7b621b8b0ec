//! Renames one name to another under an overwrite policy, in as few steps as the system allows.
//!
//! Refusing is atomic: with `RENAME_NOREPLACE`, a hard link, or an exclusively created placeholder. To replace a
//! directory that is not empty, the two are swapped and then the old one is removed.

use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::Overwrite;
use crate::error::{At, Error, Result};
use crate::remove::remove_tree;
use crate::sys::{self, Name};

/// Renames `from` to `to`. For `XDEV`, it returns [`Error::Io`] and changes nothing.
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
            // The target was created in the meantime: it is replaced like any other.
            Err(Errno::EXIST) => Err(Error::Changed { path: shown.to_path_buf() }),
            other => other.at(shown),
        };
    };
    if source.is_directory() != target.is_directory() {
        return Err(Error::WrongKind {
            path: shown.to_path_buf(),
            found: target.entry_type().described(),
            needed: if source.is_directory() {
                "a directory, like the source"
            } else {
                "a non-directory, like the source"
            },
        });
    }
    match sys::rename(from, to) {
        Err(Errno::NOTEMPTY | Errno::EXIST) if source.is_directory() => replace_directory(from, to, shown),
        other => other.at(shown),
    }
}

/// Swaps two directories and removes the old one. If the system cannot swap, the old one is renamed to a temporary
/// name first.
fn replace_directory(from: Name<'_>, to: Name<'_>, shown: &Path) -> Result<()> {
    let old_name = sys::temporary_name("replaced");
    match sys::exchange(from, to) {
        Ok(()) => {
            // The move is done. The old contents are renamed away from the source's name before they are removed.
            let old = Name { directory: from.directory, name: &old_name };
            sys::rename(from, old).at(shown)?;
            remove_tree(old, shown)
        }
        Err(Errno::NOSYS) => {
            let old = Name { directory: to.directory, name: &old_name };
            sys::rename(to, old).at(shown)?;
            if let Err(error) = rename_new(from, to) {
                // Restore the old directory, unless its name was taken in the meantime: then it stays under the
                // temporary name.
                let _ = rename_new(old, to);
                return Err(Error::at(shown, error));
            }
            remove_tree(old, shown)
        }
        Err(error) => Err(Error::at(shown, error)),
    }
}

/// Renames to a name that must not exist.
pub(crate) fn rename_new(from: Name<'_>, to: Name<'_>) -> rustix::io::Result<()> {
    match sys::rename_exclusive(from, to) {
        Err(Errno::NOSYS) => {}
        other => return other,
    }
    if sys::stat_name(from.directory, from.name)?.is_directory() {
        // A directory may replace an empty one, so an empty placeholder reserves the name.
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
        // Hard links are not supported here: a placeholder file reserves the name until it is replaced.
        Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS | Errno::MLINK | Errno::ACCESS) => {
            drop(sys::create_file(to.directory, to.name, 0o600)?);
            sys::rename(from, to).inspect_err(|_| {
                let _ = sys::unlink(to.directory, to.name);
            })
        }
        Err(error) => Err(error),
    }
}

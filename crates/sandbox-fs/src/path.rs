//! A path given by a user, validated once.
//!
//! Refuses only paths that no file system accepts. The kernel resolves `..` and links, below the root.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The system's limit on path length, including the terminating NUL.
const PATH_MAX: usize = 4096;

/// An absolute path, or one relative to the workspace. Never empty, and without NUL bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserPath(PathBuf);

impl UserPath {
    /// Accepts any bytes except an empty name, a NUL, or more than the system's path limit.
    ///
    /// # Errors
    /// [`Error::BadName`], with the reason.
    pub fn parse(name: impl Into<OsString>) -> Result<Self> {
        let path = PathBuf::from(name.into());
        let bytes = path.as_os_str().as_bytes();
        if bytes.is_empty() {
            return Err(Error::bad_name(&path, "it is empty"));
        }
        if bytes.contains(&0) {
            return Err(Error::bad_name(&path, "it contains a NUL byte"));
        }
        if bytes.len() >= PATH_MAX {
            return Err(Error::BadName {
                name: path.display().to_string().chars().take(80).collect(),
                reason: "it is too long",
            });
        }
        Ok(Self(path))
    }

    /// The workspace itself, which a listing without a path shows.
    #[must_use]
    pub fn workspace() -> Self {
        Self(PathBuf::from("."))
    }

    /// The path as given.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// True if the path has the form of a directory (`a/`, `a/.`), which cannot name a file.
    pub(crate) fn names_directory(&self) -> bool {
        let bytes = self.0.as_os_str().as_bytes();
        bytes.ends_with(b"/") || bytes.ends_with(b"/.")
    }
}

/// A path's directory and its last component; `None` if the last component is not a name: for the root and for paths that
/// end in `..` or `.`.
pub(crate) fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    let mut components = path.components();
    match components.next_back() {
        Some(std::path::Component::Normal(name)) => Some((components.as_path(), name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_and_names_with_nul_are_refused() {
        for name in ["", "\0", "a\0b"] {
            assert!(matches!(UserPath::parse(name), Err(Error::BadName { .. })), "{name:?}");
        }
        assert!(UserPath::parse("a".repeat(PATH_MAX)).is_err());
        assert!(UserPath::parse("a b/ü").is_ok());
    }

    #[test]
    fn a_trailing_slash_names_a_directory() {
        assert!(UserPath::parse("a/").expect("valid").names_directory());
        assert!(UserPath::parse("a/.").expect("valid").names_directory());
        assert!(!UserPath::parse("a").expect("valid").names_directory());
    }

    #[test]
    fn splitting_finds_no_name_in_parents_and_roots() {
        assert_eq!(split(Path::new("/a/b")), Some((Path::new("/a"), OsStr::new("b"))));
        assert_eq!(split(Path::new("b")), Some((Path::new(""), OsStr::new("b"))));
        assert_eq!(split(Path::new("a/..")), None);
        assert_eq!(split(Path::new("/")), None);
    }
}

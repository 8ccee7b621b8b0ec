//! The directory that entries belong to: an absolute path, compared as text.
//!
//! The path is normalised lexically: `.`, `..`, doubled and trailing slashes are removed, symlinks are not
//! followed, and the directory need not exist. So the entries of a directory stay the same when the directory
//! is created later, and two paths that lead to one place through symlinks count as two directories.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::Error;

/// Linux's limit on the length of a path, without the terminating NUL.
const MAX_DIRECTORY_BYTES: usize = 4095;

/// An absolute, lexically normalised path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Directory(String);

impl Directory {
    /// Normalises an absolute path: `/a/./b/../c/` becomes `/a/c`, and `/..` becomes `/`.
    ///
    /// # Errors
    /// [`Error::InvalidDirectory`] if it is empty, relative, too long, or contains a NUL.
    pub fn parse(path: &str) -> Result<Self, Error> {
        let refuse = |problem| Err(Error::InvalidDirectory { problem });
        if path.is_empty() {
            return refuse("must not be empty");
        }
        if !path.starts_with('/') {
            return refuse("must be an absolute path");
        }
        if path.contains('\0') {
            return refuse("must not contain a NUL character");
        }
        let normal = normalise(path);
        if normal.len() > MAX_DIRECTORY_BYTES {
            return refuse("is longer than 4095 bytes");
        }
        Ok(Self(normal))
    }

    /// Resolves a user's path against the workspace, then normalises it as [`Directory::parse`] does.
    ///
    /// # Errors
    /// See [`Directory::parse`]; also for a relative path if the workspace's path is not UTF-8.
    pub fn resolve(workspace: &Path, path: &str) -> Result<Self, Error> {
        if path.is_empty() || path.starts_with('/') {
            return Self::parse(path);
        }
        let workspace = workspace.to_str().ok_or(Error::InvalidDirectory {
            problem: "is relative, and the workspace's path is not UTF-8",
        })?;
        Self::parse(&format!("{workspace}/{path}"))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The stem of this directory's file names in the store. The stem is a hash, because a path contains
    /// slashes and may be longer than a file name may be.
    pub(crate) fn file_stem(&self) -> String {
        Sha256::digest(self.0.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn normalise(path: &str) -> String {
    let mut kept = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            part => kept.push(part),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(path: &str) -> String {
        Directory::parse(path).unwrap().as_str().to_owned()
    }

    #[test]
    fn spellings_of_one_path_are_one_directory() {
        for spelling in ["/a/b", "/a/b/", "//a//b", "/a/./b/.", "/a/x/../b", "/../a/b"] {
            assert_eq!(parsed(spelling), "/a/b", "{spelling}");
        }
        for root in ["/", "//", "/.", "/..", "/a/.."] {
            assert_eq!(parsed(root), "/", "{root}");
        }
        assert_eq!(parsed("/a/... /..b"), "/a/... /..b");
    }

    #[test]
    fn relative_paths_are_resolved_against_the_workspace_and_absolute_ones_are_not() {
        let resolved = |path| Directory::resolve("/work space/".as_ref(), path).map(|directory| directory.0);
        assert_eq!(resolved("app/").unwrap(), "/work space/app");
        assert_eq!(resolved(".").unwrap(), "/work space");
        assert_eq!(resolved("../other").unwrap(), "/other");
        assert_eq!(resolved("/etc").unwrap(), "/etc");
        assert_eq!(resolved("").unwrap_err().to_string(), "directory must not be empty");
    }

    #[test]
    fn an_invalid_directory_is_refused_with_the_reason() {
        let refused = |path: &str| Directory::parse(path).unwrap_err().to_string();
        assert_eq!(refused(""), "directory must not be empty");
        assert_eq!(refused("a/b"), "directory must be an absolute path");
        assert_eq!(refused("/a\0b"), "directory must not contain a NUL character");
        assert_eq!(refused(&format!("/{}", "x".repeat(4095))), "directory is longer than 4095 bytes");
        assert!(Directory::parse(&format!("/{}", "x".repeat(4094))).is_ok());
        assert!(Directory::resolve("relative".as_ref(), "a").is_err());
    }

    proptest! {
        #[test]
        fn a_normalised_path_stays_as_it_is(path in "/[a-c./\\n\u{e9}]{0,30}") {
            let once = parsed(&path);
            prop_assert_eq!(parsed(&once), once.clone());
            prop_assert!(once == "/" || !once.ends_with('/'));
        }
    }
}

//! The directory that entries are filed under: an absolute path, compared as text.
//!
//! It is made normal by its letters alone: `.`, `..`, doubled and trailing slashes go, symlinks are not followed, and
//! the directory need not exist. So one directory has one file in the store whether or not it is there yet, and
//! two symlinked names of one place are two directories.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::Error;

/// Linux's own limit for a path, with its closing NUL.
const MAX_DIRECTORY_BYTES: usize = 4095;

/// An absolute, lexically normal path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Directory(String);

impl Directory {
    /// Takes an absolute path and makes it normal: `/a/./b/../c/` is `/a/c`, and `/..` is `/`.
    ///
    /// # Errors
    /// [`Error::InvalidDirectory`] when it is empty, relative, too long, or has a NUL in it.
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

    /// Resolves what a user wrote against the workspace, then as [`Directory::parse`].
    ///
    /// # Errors
    /// As [`Directory::parse`], and when a relative path meets a workspace whose path is not UTF-8.
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

    /// The stem of this directory's files in the store: paths are longer than file names may be, and have slashes.
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
    fn relative_paths_are_taken_from_the_workspace_and_absolute_ones_as_they_are() {
        let resolved = |path| Directory::resolve("/work space/".as_ref(), path).map(|directory| directory.0);
        assert_eq!(resolved("app/").unwrap(), "/work space/app");
        assert_eq!(resolved(".").unwrap(), "/work space");
        assert_eq!(resolved("../other").unwrap(), "/other");
        assert_eq!(resolved("/etc").unwrap(), "/etc");
        assert_eq!(resolved("").unwrap_err().to_string(), "directory must not be empty");
    }

    #[test]
    fn what_cannot_be_a_directory_is_refused_with_the_reason() {
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
        fn a_normal_path_stays_as_it_is(path in "/[a-c./\\n\u{e9}]{0,30}") {
            let once = parsed(&path);
            prop_assert_eq!(parsed(&once), once.clone());
            prop_assert!(once == "/" || !once.ends_with('/'));
        }
    }
}

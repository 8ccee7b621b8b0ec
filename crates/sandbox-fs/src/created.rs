//! Remembers directories that an operation created on its way, and removes them if the operation fails.
//!
//! Only empty directories are removed, so files that others have created in them in the meantime stay.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Result;

use crate::sys;

/// Removes the directories when dropped, unless `keep` was called.
#[derive(Debug)]
pub(crate) struct CreatedDirectories {
    /// The innermost directory that existed before, open.
    base: Option<OwnedFd>,
    /// The names created below it, each inside the previous one.
    names: Vec<OsString>,
}

impl CreatedDirectories {
    pub(crate) fn none() -> Self {
        Self { base: None, names: Vec::new() }
    }

    /// Records that `name` was created in `parent`: the directory created last or, at first, the existing one.
    pub(crate) fn push(&mut self, parent: impl AsFd, name: &OsStr) -> Result<()> {
        self.names.push(name.to_os_string());
        if self.base.is_none() {
            self.base = Some(rustix::io::fcntl_dupfd_cloexec(parent, 0)?);
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Keeps the directories.
    pub(crate) fn keep(mut self) {
        self.names.clear();
    }

    /// Removes the innermost directory. Each one is opened from the base, so only one handle is open at a time.
    fn remove_innermost(base: &OwnedFd, names: &[OsString]) -> Result<()> {
        let Some((last, above)) = names.split_last() else { return Ok(()) };
        let mut directory = rustix::io::fcntl_dupfd_cloexec(base, 0)?;
        for name in above {
            directory = sys::open_directory(&directory, name)?;
        }
        sys::remove_directory(&directory, last)
    }
}

impl Drop for CreatedDirectories {
    fn drop(&mut self) {
        let Some(base) = self.base.take() else { return };
        while !self.names.is_empty() {
            // A directory that cannot be removed is in use, and so are its parents.
            if Self::remove_innermost(&base, &self.names).is_err() {
                return;
            }
            self.names.pop();
        }
    }
}

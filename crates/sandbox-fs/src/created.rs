//! Directories that an operation made on its way, taken away again if it comes to nothing.
//!
//! Only empty directories are removed, so what somebody else has put into one meanwhile stays.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Result;

use crate::sys;

/// Undoes itself when dropped, unless kept.
#[derive(Debug)]
pub(crate) struct CreatedDirectories {
    /// The directory that was there before, open.
    base: Option<OwnedFd>,
    /// The names made below it, each inside the one before.
    names: Vec<OsString>,
}

impl CreatedDirectories {
    pub(crate) fn none() -> Self {
        Self { base: None, names: Vec::new() }
    }

    /// Notes that `name` was made in `parent`, which is the directory made last or, at first, the one that was there.
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

    /// Lets them stay.
    pub(crate) fn keep(mut self) {
        self.names.clear();
    }

    /// Removes the innermost that is left; each one is found anew, so only one handle is open at a time.
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
            // One that cannot be removed is in use by somebody else, and so are those around it.
            if Self::remove_innermost(&base, &self.names).is_err() {
                return;
            }
            self.names.pop();
        }
    }
}

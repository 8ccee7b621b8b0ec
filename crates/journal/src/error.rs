//! What can prevent a journal from being opened, and what cannot.

use std::io;
use std::path::{Path, PathBuf};

/// Why a journal was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("another server uses the journal in {}", .directory.display())]
    Locked {
        /// The directory of the journal.
        directory: PathBuf,
    },
    /// A newer version of this program wrote it. Nothing was changed.
    #[error("{} has format {found}, which is newer than this version can read (up to {supported}); \
             start the newer version, or use another directory", .path.display())]
    NewerFormat {
        /// The file with the newer format.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program can read.
        supported: u32,
    },
    /// The system refused something.
    #[error("{}: {source}", .path.display())]
    Io {
        /// What was accessed.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// A corrupt file that was moved or copied to `set-aside/`. What could be read of it is still served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Where it is now.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// An error about the contents of a file.
pub(crate) fn corrupt(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

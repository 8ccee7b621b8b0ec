//! The errors of opening a journal, and the report of a corrupt file, which does not prevent opening.

use std::io;
use std::path::{Path, PathBuf};

/// Why a journal was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the journal open.
    #[error("another server uses the journal in {}", .directory.display())]
    Locked {
        /// The directory of the journal.
        directory: PathBuf,
    },
    /// A newer version of this program wrote a file of the journal. No file was changed.
    #[error("{} has format {found}, which is newer than this version can read (up to {supported}); \
             start the newer version, or use another directory", .path.display())]
    NewerFormat {
        /// The file with the newer format.
        path: PathBuf,
        /// The file's format version.
        found: u32,
        /// The newest format version that this program can read.
        supported: u32,
    },
    /// A system call failed.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory that was accessed.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// A corrupt file that was moved or copied to `set-aside/`. The entries before the damage are still served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The path of the moved file or of the copy.
    pub path: PathBuf,
    /// What is wrong with the file.
    pub reason: String,
}

/// An error that says that the contents of a file are invalid.
pub(crate) fn corrupt(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

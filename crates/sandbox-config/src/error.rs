//! The error type of this crate. Errors about the caller's input name the field; errors about stored data name the
//! file.
//!
//! No message repeats a value of an entry: headers and environments may hold secrets, and messages end up in logs.

use std::path::{Path, PathBuf};

/// Why an operation on the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory is not valid.
    #[error("directory {problem}")]
    InvalidDirectory {
        /// What is wrong, as the rest of a sentence that begins with "directory".
        problem: &'static str,
    },
    /// The name of an entry is not valid.
    #[error("name {problem}")]
    InvalidName {
        /// What is wrong, as the rest of a sentence that begins with "name".
        problem: &'static str,
    },
    /// The entry is not JSON.
    #[error("the entry is not JSON: {reason}")]
    NotJson {
        /// The parser's error and its position.
        reason: String,
    },
    /// A field of the entry is missing or invalid.
    #[error("{field} {problem}")]
    InvalidField {
        /// The JSON path of the field, such as `headers.X-Team` or `sources[0].type`; `entry` for the whole entry.
        field: String,
        /// What is wrong, as the rest of a sentence that begins with the field.
        problem: String,
    },
    /// The entry has more than [`MAX_ENTRY_BYTES`](crate::MAX_ENTRY_BYTES).
    #[error("the entry has {bytes} bytes; at most {limit} are stored")]
    EntryTooLarge {
        /// The size of the entry.
        bytes: usize,
        /// The maximum size.
        limit: usize,
    },
    /// A stored file has content that this crate does not write. It is not changed, so that it can be examined.
    #[error("the configuration file {} is damaged: {reason}; repair or remove it", file.display())]
    CorruptFile {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A stored file was written by a newer release.
    #[error("the configuration file {} has format version {version}, which this release does not know", file.display())]
    UnsupportedVersion {
        /// The file.
        file: PathBuf,
        /// The version in the file.
        version: String,
    },
    /// Another writer has held the lock of a stored file for too long. Nothing was changed.
    #[error("another process has locked {} and does not release it", file.display())]
    Locked {
        /// The lock file.
        file: PathBuf,
    },
    /// A file system operation failed. After a failed write the entry may or may not be stored, but the file is
    /// intact.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed operation.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// Adds the operation and the path to an I/O error. Meant for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// True for invalid input from the caller, false for problems with the disk or a stored file.
    #[must_use]
    pub fn is_invalid_input(&self) -> bool {
        match self {
            Self::InvalidDirectory { .. }
            | Self::InvalidName { .. }
            | Self::NotJson { .. }
            | Self::InvalidField { .. }
            | Self::EntryTooLarge { .. } => true,
            Self::CorruptFile { .. }
            | Self::UnsupportedVersion { .. }
            | Self::Locked { .. }
            | Self::Io { .. } => false,
        }
    }
}

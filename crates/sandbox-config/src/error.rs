//! The one error of this crate, in two families: what the caller sent is wrong (the message says which field), and
//! what is on the disk is wrong (the message says which file).
//!
//! No message repeats a value of an entry: headers and environments hold secrets, and messages end up in logs.

use std::path::{Path, PathBuf};

/// Why an operation on the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory cannot be one.
    #[error("directory {problem}")]
    InvalidDirectory {
        /// What is wrong, as the rest of a sentence that begins with "directory".
        problem: &'static str,
    },
    /// The name of an entry cannot be one.
    #[error("name {problem}")]
    InvalidName {
        /// What is wrong, as the rest of a sentence that begins with "name".
        problem: &'static str,
    },
    /// The entry is not JSON at all.
    #[error("the entry is not JSON: {reason}")]
    NotJson {
        /// What the parser stumbled over, and where.
        reason: String,
    },
    /// The entry is JSON, but one of its fields is missing or wrong.
    #[error("{field} {problem}")]
    InvalidField {
        /// The JSON path of the field, such as `headers.X-Team` or `sources[0].type`; `entry` is the whole.
        field: String,
        /// What is wrong, as the rest of a sentence that begins with the field.
        problem: String,
    },
    /// The entry has more than [`MAX_ENTRY_BYTES`](crate::MAX_ENTRY_BYTES).
    #[error("the entry has {bytes} bytes; at most {limit} are stored")]
    EntryTooLarge {
        /// How many it has.
        bytes: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// A stored file is not what this crate writes. It is left as it is, for somebody to look at.
    #[error("the configuration file {} is damaged: {reason}; repair or remove it", file.display())]
    CorruptFile {
        /// The file.
        file: PathBuf,
        /// What is wrong in it.
        reason: String,
    },
    /// A stored file was written by a newer release.
    #[error("the configuration file {} has format version {version}, which this release does not know", file.display())]
    UnsupportedVersion {
        /// The file.
        file: PathBuf,
        /// The version it claims, as it stands there.
        version: String,
    },
    /// The file system refused. After a refused write the entry may or may not be stored, but the file is whole.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system answered.
        source: std::io::Error,
    },
}

impl Error {
    /// For `map_err`: names what was tried, and on what.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Whether the caller sent something wrong, as opposed to the disk or a stored file being at fault.
    #[must_use]
    pub fn is_invalid_input(&self) -> bool {
        match self {
            Self::InvalidDirectory { .. }
            | Self::InvalidName { .. }
            | Self::NotJson { .. }
            | Self::InvalidField { .. }
            | Self::EntryTooLarge { .. } => true,
            Self::CorruptFile { .. } | Self::UnsupportedVersion { .. } | Self::Io { .. } => false,
        }
    }
}

//! The metadata of an entry, read without opening it.

use crate::etag::ETag;
use crate::sys::Stat;
use crate::timestamp::Timestamp;

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, whatever it points to.
    Symlink,
    /// A FIFO, socket or device.
    Other,
}

impl EntryType {
    /// The kind's name in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Other => "other",
        }
    }

    /// The kind with its article, for error messages.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::File => "a regular file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::Other => "a FIFO, socket or device",
        }
    }
}

/// One entry's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The kind of the entry.
    pub entry_type: EntryType,
    /// The size in bytes; for a symbolic link, the length of its target.
    pub size: u64,
    /// When the contents last changed.
    pub modified: Timestamp,
    /// Permission bits, set-id and sticky bits included.
    pub mode: u32,
    /// The version of the contents.
    pub etag: ETag,
}

impl Metadata {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            entry_type: stat.entry_type(),
            size: stat.size(),
            modified: stat.modified(),
            mode: stat.permissions(),
            etag: ETag::of(stat),
        }
    }

    /// The mode as octal text, four digits (`0644`).
    #[must_use]
    pub fn mode_text(&self) -> String {
        format!("{:04o}", self.mode)
    }
}

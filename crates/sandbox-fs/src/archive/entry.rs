//! The entries of an archive, independent of its format.
//!
//! `extract` handles all archives through these types, so that one set of rules for names, links and limits
//! applies to all formats.

use crate::error::Result;
use crate::timestamp::Timestamp;

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file with the size in bytes that the archive states.
    File {
        size: u64,
    },
    Directory,
    SymbolicLink {
        target: Vec<u8>,
    },
    HardLink {
        target: Vec<u8>,
    },
}

/// An entry as the archive describes it, before any check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackedEntry {
    pub(super) name: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) mode: u32,
    /// The modification time; `None` if the archive has no exact time.
    pub(super) modified: Option<Timestamp>,
}

/// The data of the current entry.
pub(super) trait EntryData {
    /// Reads more data; 0 at the end.
    fn read_data(&mut self, buffer: &mut [u8]) -> Result<usize>;
}

/// An archive that can be read once, from beginning to end.
pub(super) trait EntrySource {
    /// Passes every entry to `take`, in the archive's order, until the first error. Unread data is skipped.
    fn for_each(
        &mut self,
        take: &mut dyn FnMut(&PackedEntry, &mut dyn EntryData) -> Result<()>,
    ) -> Result<()>;
}

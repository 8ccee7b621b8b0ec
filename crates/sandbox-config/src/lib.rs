//! The MCP and skills store: the MCP servers and skills of each directory. It contains no HTTP.
//!
//! ```
//! use sandbox_config::{ConfigStore, Directory, Entry, EntryName, McpEntry};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let data = tempfile::tempdir()?;
//! let store = ConfigStore::open(data.path())?;
//! let directory = Directory::resolve("/workspace".as_ref(), "app")?;
//! let name = EntryName::parse("github")?;
//! store.mcp().put(&directory, &name, &McpEntry::parse(br#"{"type":"local","command":"gh-mcp"}"#)?)?;
//! assert!(store.mcp().get(&directory, &name)?.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! Text is parsed into a [`Directory`], an [`EntryName`] and an [`Entry`], which refuse invalid input
//! ([`Entry::parse`] alone validates without storing). A [`Collection`] of the [`ConfigStore`] then reads or
//! writes the small file of that directory.
//!
//! Deliberately absent: an entry is validated text, never a value that was decoded and encoded again, so numbers,
//! key order and unknown fields are preserved. Nothing here starts a server, fetches a skill, reads an environment
//! variable, or accesses the directory that an entry belongs to.
//!
//! Every call blocks on a file lock and on the disk. Async callers use a blocking thread.

mod directory;
mod document;
mod entry;
mod error;
mod files;
mod json;
mod mcp;
mod name;
mod skills;
mod store;

pub use directory::Directory;
pub use entry::{Entry, MAX_ENTRY_BYTES};
pub use error::Error;
pub use mcp::{McpEntry, McpKind};
pub use name::{EntryName, MAX_NAME_CHARACTERS};
pub use skills::SkillsEntry;
pub use store::{Collection, ConfigStore, Deletion};

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

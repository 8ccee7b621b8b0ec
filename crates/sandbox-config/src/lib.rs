//! The MCP and skills store: which MCP servers and which skills belong to which directory. No HTTP in it.
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
//! A request walks one way: text becomes a [`Directory`], an [`EntryName`] and an [`Entry`] (all three refuse what is
//! wrong, and [`Entry::parse`] alone is the check without storing), and a [`Collection`] of the [`ConfigStore`] reads
//! or writes the one small file of that directory.
//!
//! What is deliberately absent: an entry is text that was checked, never a value that was decoded and encoded again,
//! so numbers, key order and fields this crate does not know stay as they came. Nothing here starts a server, fetches
//! a skill, reads an environment variable, or looks at the directory an entry is filed under.
//!
//! Everything blocks: it waits for a file lock and for the disk. Async callers use a blocking thread.

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

//! What MCP entries and skills entries have in common: an entry is the text of one validated JSON object.
//!
//! [`Entry::parse`] does no I/O: the command line uses it to report errors without a server or a store.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::Error;
use crate::json::Field;

/// The maximum size of an entry. Every write rewrites the directory's whole file, so entries must be small.
pub const MAX_ENTRY_BYTES: usize = 1024 * 1024;

/// One entry of the configuration, valid by construction.
///
/// An entry serialises as its original text if `serde_json` writes text or bytes. (Do not serialise it to
/// `serde_json::Value`: big numbers would lose digits.) The `Debug` output shows no content, since entries
/// may hold secrets.
pub trait Entry: Sealed + Clone + std::fmt::Debug + Serialize + Send + Sync + 'static {
    /// Validates one entry.
    ///
    /// # Errors
    /// [`Error::EntryTooLarge`], [`Error::NotJson`], or [`Error::InvalidField`] with the JSON path of the field.
    fn parse(json: &[u8]) -> Result<Self, Error> {
        if json.len() > MAX_ENTRY_BYTES {
            return Err(Error::EntryTooLarge { bytes: json.len(), limit: MAX_ENTRY_BYTES });
        }
        let not_json = |reason: String| Error::NotJson { reason };
        let text = std::str::from_utf8(json).map_err(|error| not_json(error.to_string()))?;
        let value: &RawValue = serde_json::from_str(text).map_err(|error| not_json(error.to_string()))?;
        Self::check(value)
    }

    /// The entry's original text, byte for byte, without the white space around it.
    fn as_json(&self) -> &str;
}

/// The lists in a directory's file, one per kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// MCP servers.
    Mcp,
    /// Skills.
    Skills,
}

/// Restricts [`Entry`] to the two kinds that a file has lists for.
pub trait Sealed: Sized {
    /// The list for this kind.
    const SECTION: Section;

    /// Validates a JSON value against this kind's rules.
    fn check(value: &RawValue) -> Result<Self, Error>;
}

/// Checks a list of strings without NULs: they become arguments of a program.
pub(crate) fn check_arguments(field: &Field<'_>) -> Result<(), Error> {
    for (item, text) in field.array_of_strings()? {
        if text.contains('\0') {
            return Err(item.error("must not contain a NUL character"));
        }
    }
    Ok(())
}

//! What an MCP entry and a skills entry have in common: each is the text of one JSON object that was checked.
//!
//! [`Entry::parse`] is pure: the command line uses it to tell a user what is wrong without a server or a store.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::Error;
use crate::json::Field;

/// The most bytes an entry may have. Every write rewrites the directory's file, so entries are to stay small.
pub const MAX_ENTRY_BYTES: usize = 1024 * 1024;

/// One entry of the configuration, valid by construction.
///
/// It serialises as the text that came in, through `serde_json` to text or bytes. (Through `serde_json::Value` big
/// numbers lose digits: do not.) Its `Debug` shows no content, since entries hold secrets.
pub trait Entry: Sealed + Clone + std::fmt::Debug + Serialize + Send + Sync + 'static {
    /// Checks one entry.
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

    /// The entry's text, byte for byte as it came, less the white space around it.
    fn as_json(&self) -> &str;
}

/// Which of the two lists of a directory's file an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// MCP servers.
    Mcp,
    /// Skills.
    Skills,
}

/// Keeps [`Entry`] to the two kinds that a file has lists for.
pub trait Sealed: Sized {
    /// The list this kind is in.
    const SECTION: Section;

    /// Checks a JSON value against this kind's rules.
    fn check(value: &RawValue) -> Result<Self, Error>;
}

/// A list of strings, of which none has a NUL: they become arguments of a program.
pub(crate) fn check_arguments(field: &Field<'_>) -> Result<(), Error> {
    for (item, text) in field.array_of_strings()? {
        if text.contains('\0') {
            return Err(item.error("must not contain a NUL character"));
        }
    }
    Ok(())
}

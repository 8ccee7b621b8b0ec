//! The name of an entry in its directory. Names are compared exactly: no case folding, no Unicode normalisation.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::Error;

/// The maximum number of characters (Unicode scalar values) in a name.
pub const MAX_NAME_CHARACTERS: usize = 256;

/// A name: one to [`MAX_NAME_CHARACTERS`] characters, none of them a control character.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryName(String);

impl EntryName {
    /// Validates a name.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if it is empty, too long, or contains a control character.
    pub fn parse(name: &str) -> Result<Self, Error> {
        if name.is_empty() {
            return Err(Error::InvalidName { problem: "must not be empty" });
        }
        if name.chars().count() > MAX_NAME_CHARACTERS {
            return Err(Error::InvalidName { problem: "is longer than 256 characters" });
        }
        if name.chars().any(char::is_control) {
            return Err(Error::InvalidName { problem: "must not contain control characters" });
        }
        Ok(Self(name.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for EntryName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_printable_text_is_a_name() {
        for name in
            ["a", "GitHub MCP", "../etc/passwd", "日本語", "🦀", "\"quoted\"", "__proto__", " ", "e\u{301}"]
        {
            assert_eq!(EntryName::parse(name).unwrap().as_str(), name);
        }
        assert!(EntryName::parse(&"é".repeat(MAX_NAME_CHARACTERS)).is_ok());
    }

    #[test]
    fn an_invalid_name_is_refused_with_the_reason() {
        let refused = |name: &str| EntryName::parse(name).unwrap_err().to_string();
        assert_eq!(refused(""), "name must not be empty");
        assert_eq!(refused(&"é".repeat(MAX_NAME_CHARACTERS + 1)), "name is longer than 256 characters");
        for name in ["a\nb", "a\0", "\u{7f}", "\u{85}"] {
            assert_eq!(refused(name), "name must not contain control characters", "{name:?}");
        }
    }
}

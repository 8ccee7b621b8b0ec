//! The id that a client gives to an instance.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The id of an instance: 1 to 128 of `A-Z a-z 0-9 . _ ~ -`, starting with a letter or digit.
///
/// Those characters need no escaping in a URL path, so clients read back exactly the id that they wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerId(Arc<str>);

impl ServerId {
    const MAX_LENGTH: usize = 128;

    /// Reads a server id.
    ///
    /// # Errors
    /// [`InvalidServerId`].
    pub fn parse(text: &str) -> Result<Self, InvalidServerId> {
        let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        let all_allowed = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte));
        if starts_well && all_allowed && text.len() <= Self::MAX_LENGTH {
            return Ok(Self(text.into()));
        }
        Err(InvalidServerId)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The error for text that is not a server id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a server id is 1 to 128 of A-Z a-z 0-9 . _ ~ - and starts with a letter or digit")]
pub struct InvalidServerId;

impl TryFrom<String> for ServerId {
    type Error = InvalidServerId;

    fn try_from(text: String) -> Result<Self, InvalidServerId> {
        Self::parse(&text)
    }
}

impl From<ServerId> for String {
    fn from(id: ServerId) -> Self {
        id.0.as_ref().to_owned()
    }
}

/// Allows looking up a map by text.
impl Borrow<str> for ServerId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_path_safe_names_are_server_ids() {
        for good in ["a", "0", "a.b_c~d-e", &"x".repeat(128)] {
            assert_eq!(ServerId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", ".a", "-a", "_", "a b", "a/b", "ä", "a\0", &"x".repeat(129)] {
            assert_eq!(ServerId::parse(bad), Err(InvalidServerId), "{bad:?}");
        }
    }

    #[test]
    fn an_id_is_text_everywhere() {
        let id = ServerId::parse("a-1").unwrap();
        assert_eq!((id.to_string(), String::from(id.clone())), ("a-1".to_owned(), "a-1".to_owned()));
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"a-1\"");
        assert_eq!(serde_json::from_str::<ServerId>("\"a-1\"").unwrap(), id);
        assert!(serde_json::from_str::<ServerId>("\"/\"").is_err());
        assert!(std::collections::BTreeSet::from([id]).contains("a-1"));
    }
}

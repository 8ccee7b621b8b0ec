//! The name of an agent. It is safe to use as one path component, so no later code has to check it again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::CatalogError;

/// An agent's id: 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

impl AgentId {
    /// The longest accepted id, in bytes.
    pub const MAX_LENGTH: usize = 64;

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentId {
    type Err = CatalogError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let only_allowed = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if starts_well && only_allowed && text.len() <= Self::MAX_LENGTH {
            Ok(Self(text.to_owned()))
        } else {
            Err(CatalogError::InvalidAgentId { text: text.chars().take(80).collect() })
        }
    }
}

impl TryFrom<String> for AgentId {
    type Error = CatalogError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> Self {
        id.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_leave_its_directory_is_refused() {
        for bad in ["", ".", "..", "../x", "a/b", "-x", "a b", "a\0", &"x".repeat(65)] {
            assert!(bad.parse::<AgentId>().is_err(), "{bad:?} was accepted");
        }
        for good in ["claude", "fast-agent", "A.b_c-9"] {
            assert_eq!(good.parse::<AgentId>().unwrap().as_str(), good);
        }
    }
}

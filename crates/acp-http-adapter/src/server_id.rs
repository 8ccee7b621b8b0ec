//! The name a client gives to an instance.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use http_edge::{Code, Problem};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// 1 to 128 of `A-Z a-z 0-9 . _ ~ -`, starting with a letter or digit.
///
/// Those characters need no escaping in a path, so what a client wrote is what it reads back.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId(Arc<str>);

impl ServerId {
    const MAX_LENGTH: usize = 128;

    /// Takes a server id from a request.
    ///
    /// # Errors
    /// 400 `invalid_server_id`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if Self::is_one(text) {
            return Ok(Self(text.into()));
        }
        Err(Problem::new(
            Code::InvalidServerId,
            "a server id is 1 to 128 of A-Z a-z 0-9 . _ ~ - and starts with a letter or digit",
        ))
    }

    /// Whether a text is a server id.
    pub(crate) fn is_one(text: &str) -> bool {
        let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        let all_allowed = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte));
        starts_well && all_allowed && text.len() <= Self::MAX_LENGTH
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The last part of the path, percent-decoded. What cannot be decoded is no server id.
impl<S: Send + Sync> FromRequestParts<S> for ServerId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // The usual id has nothing to decode.
        if let Some((_, last)) = parts.uri.path().rsplit_once('/').filter(|(_, last)| !last.contains('%')) {
            return Self::parse(last);
        }
        let text = Path::<String>::from_request_parts(parts, state).await.map(|Path(text)| text);
        Self::parse(text.as_deref().unwrap_or_default())
    }
}

impl PartialSchema for ServerId {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$"))
            .description(Some("1 to 128 of `A-Z a-z 0-9 . _ ~ -`, starting with a letter or digit."));
        RefOr::T(Schema::Object(text.build()))
    }
}

impl ToSchema for ServerId {}

/// A text finds what is filed under the id.
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
            assert_eq!(ServerId::parse(bad).unwrap_err().code(), Code::InvalidServerId, "{bad:?}");
        }
    }
}

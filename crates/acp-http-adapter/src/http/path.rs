//! The server id in a path.

use acp_instances::ServerId;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use http_server::{Code, Problem};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The server id that a path names.
#[derive(Debug)]
pub(crate) struct PathId(pub(crate) ServerId);

impl PathId {
    /// Parses a server id.
    ///
    /// # Errors
    /// 400 `invalid_server_id`.
    pub(crate) fn parse(text: &str) -> Result<ServerId, Problem> {
        ServerId::parse(text).map_err(|error| Problem::new(Code::InvalidServerId, error.to_string()))
    }
}

/// Reads the last segment of the path and percent-decodes it. A segment that cannot be decoded is not a server id.
impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // The usual id has nothing to decode.
        if let Some((_, last)) = parts.uri.path().rsplit_once('/').filter(|(_, last)| !last.contains('%')) {
            return Self::parse(last).map(Self);
        }
        let text = Path::<String>::from_request_parts(parts, state).await.map(|Path(text)| text);
        Self::parse(text.as_deref().unwrap_or_default()).map(Self)
    }
}

impl PartialSchema for PathId {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$"))
            .description(Some(
                "1 to 128 characters of `A-Z a-z 0-9 . _ ~ -`, starting with a letter or digit.",
            ));
        RefOr::T(Schema::Object(text.build()))
    }
}

impl ToSchema for PathId {
    fn name() -> std::borrow::Cow<'static, str> {
        "ServerId".into()
    }
}

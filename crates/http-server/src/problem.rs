//! RFC 9457 problem documents: the format of every error that the server sends.
//!
//! Everything in a problem is sent to the client. Details that belong only in the log must not be put into one.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use crate::Code;

/// An error that is sent to a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem(Box<Parts>);

#[derive(Debug, Clone, PartialEq)]
struct Parts {
    code: Code,
    detail: String,
    extras: Vec<(Cow<'static, str>, Value)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem whose `detail` says what happened and what to do about it.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(Parts { code, detail, extras: Vec::new(), headers: Vec::new() }))
    }

    /// Adds an extra member, such as `exitCode`.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        self.0.extras.push((name.into(), value.into()));
        self
    }

    /// Adds a response header, such as `Retry-After`.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// Tells the client when to try again.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// The error code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What happened and what to do about it.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.code.status()
    }

    /// The document as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings, numbers and maps with string keys always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Parts { code, detail, extras, .. } = &*self.0;
        let mut map = serializer.serialize_map(Some(4 + extras.len()))?;
        map.serialize_entry("type", &format_args!("urn:sandbox-agent:error:{}", code.text()))?;
        map.serialize_entry("title", code.title())?;
        map.serialize_entry("status", &code.status().as_u16())?;
        map.serialize_entry("detail", detail)?;
        for (name, value) in extras {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.to_json()));
        *response.status_mut() = self.status();
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response.headers_mut().extend(self.0.headers.iter().cloned());
        // The server takes the problem out again, logs its code and adds the request's id to the body.
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_type_title_status_detail_and_its_extras_in_this_order() {
        let problem = Problem::new(Code::AgentExited, "The agent ended. Start it again.").with("exitCode", 3);
        assert_eq!(
            problem.to_json(),
            r#"{"type":"urn:sandbox-agent:error:agent_exited","title":"Agent exited","status":502,"detail":"The agent ended. Start it again.","exitCode":3}"#
        );
    }
}

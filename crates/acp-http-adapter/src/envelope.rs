//! The JSON-RPC envelope: what kind of message it is and which id it carries. Nothing else is read.
//!
//! The bytes of a message are never rebuilt from a parsed form. This file refuses to look at a method's name, at
//! params, at a result.

#[path = "envelope_likeness.rs"]
mod likeness;
#[path = "envelope_scan.rs"]
mod scan;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use self::likeness::Likeness;
use crate::request_id::RequestId;

/// What a message is, as far as a proxy needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Envelope {
    /// Has a method and an id: somebody must answer it.
    Request(RequestId),
    /// Has a method and no id.
    Notification,
    /// Has a result or an error. The id is null when it answers something that could not be read.
    Response(RequestId),
}

/// Why some bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Not UTF-8.
    #[error("not UTF-8: {0}")]
    Encoding(std::str::Utf8Error),
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// JSON, but no JSON-RPC message.
    #[error("{0}")]
    Shape(&'static str),
}

impl Envelope {
    /// Reads one message.
    ///
    /// # Errors
    /// [`EnvelopeError`] says what is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        Self::parse_with_params(bytes).map(|(envelope, _params)| envelope)
    }

    /// The same, with where the value of `params` stands. That is empty where it was not looked for.
    fn parse_with_params(bytes: &[u8]) -> Result<(Self, Range<usize>), EnvelopeError> {
        let text = std::str::from_utf8(bytes).map_err(EnvelopeError::Encoding)?;
        match scan::fields(text) {
            Some((fields, params)) => Ok((fields.into_envelope()?, params)),
            None => Ok((Self::parse_slowly(text)?, 0..0)),
        }
    }

    fn parse_slowly(text: &str) -> Result<Self, EnvelopeError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let fields = reader
            .deserialize_any(FieldsVisitor)
            .and_then(|fields| reader.end().map(|()| fields))
            .map_err(|error| classify(text, &error))?;
        fields.into_envelope()
    }
}

/// A batch or a bare value is JSON all the same, and the client should be told which of the two went wrong.
fn classify(text: &str, error: &serde_json::Error) -> EnvelopeError {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) if text.trim_start().starts_with('[') => {
            EnvelopeError::Shape("a batch is not supported; send one message at a time")
        }
        Ok(_) if text.trim_start().starts_with('{') => {
            EnvelopeError::Shape("the id must be a string, a number or null")
        }
        Ok(_) => EnvelopeError::Shape("a message is a JSON object"),
        Err(_) => EnvelopeError::Json(error.to_string()),
    }
}

/// The top-level fields that an envelope is read by.
#[derive(Default)]
struct Fields {
    version_is_2: bool,
    id: Option<RequestId>,
    has_method: bool,
    has_outcome: bool,
}

impl Fields {
    fn into_envelope(self) -> Result<Envelope, EnvelopeError> {
        if !self.version_is_2 {
            return Err(EnvelopeError::Shape(r#"`"jsonrpc":"2.0"` is missing"#));
        }
        match (self.has_method, self.has_outcome, self.id) {
            (true, _, Some(id)) => Ok(Envelope::Request(id)),
            (true, _, None) => Ok(Envelope::Notification),
            (false, true, id) => Ok(Envelope::Response(id.unwrap_or_else(RequestId::null))),
            (false, false, _) => Err(EnvelopeError::Shape("none of `method`, `result` and `error` is there")),
        }
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON-RPC object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some(Key(key)) = map.next_key()? {
            match key.as_ref() {
                "jsonrpc" => {
                    let raw: &RawValue = map.next_value()?;
                    fields.version_is_2 = raw.get() == r#""2.0""#;
                }
                "id" => {
                    // Not `Option<&RawValue>`, which would read a null id as an absent one.
                    let raw: &RawValue = map.next_value()?;
                    fields.id = Some(RequestId::parse(raw.get()).ok_or_else(|| A::Error::custom("bad id"))?);
                }
                other => {
                    fields.has_method |= other == "method";
                    fields.has_outcome |= other == "result" || other == "error";
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

/// A key, borrowed unless it has escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Makes a message one line. Inside JSON strings a raw line break cannot occur, so every one found is between
/// tokens, where a space means the same.
pub(crate) fn flatten(message: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &message[from..]) {
        message[from + at] = b' ';
        from += at + 1;
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;

//! The JSON-RPC envelope: the kind of a message and its id. No other part of a message is interpreted.
//!
//! The bytes of a message are never rebuilt from a parsed form. This module deliberately does not look at the
//! method's name, the params or the result.

mod scan;
mod template;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use self::template::NotificationTemplate;
use crate::request_id::RequestId;

/// What a message is, as far as a proxy needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Envelope {
    /// The message has a method and an id: the other side must answer it.
    Request(RequestId),
    /// The message has a method and no id.
    Notification,
    /// The message has a result or an error.
    Response {
        /// The id of the request that this message answers. Null if that request could not be read.
        id: RequestId,
        /// True if the response carries an error.
        is_error: bool,
    },
}

/// The kind of a message, without its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// See [`Envelope::Request`].
    Request,
    /// See [`Envelope::Notification`].
    Notification,
    /// See [`Envelope::Response`].
    Response,
}

impl MessageKind {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Notification => 0,
            Self::Request => 1,
            Self::Response => 2,
        }
    }

    pub(crate) const fn of_code(code: u8) -> Self {
        match code {
            1 => Self::Request,
            2 => Self::Response,
            _ => Self::Notification,
        }
    }
}

/// An envelope, together with the positions of its parts in the message.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) envelope: Envelope,
    /// The bytes of the id's value.
    pub(crate) id_span: Option<Range<usize>>,
    /// The byte range of the value of `params`; empty if the fast scanner could not read the message.
    params: Range<usize>,
}

/// Why some bytes are not a JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8: {0}")]
    Encoding(std::str::Utf8Error),
    /// The bytes are not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// The bytes are JSON, but not a JSON-RPC message.
    #[error("{0}")]
    Shape(&'static str),
}

impl Envelope {
    /// Reads one message.
    ///
    /// # Errors
    /// [`EnvelopeError`] says what is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        Self::parse_located(bytes).map(|parsed| parsed.envelope)
    }

    /// Like [`Self::parse`], but also returns the positions of the parts in the message.
    pub(crate) fn parse_located(bytes: &[u8]) -> Result<Parsed, EnvelopeError> {
        let text = std::str::from_utf8(bytes).map_err(EnvelopeError::Encoding)?;
        let (fields, params) = match scan::fields(text) {
            Some(scanned) => scanned,
            None => (Self::read_slowly(text)?, 0..0),
        };
        let id_span = fields.id_span.clone();
        Ok(Parsed { envelope: fields.into_envelope()?, id_span, params })
    }

    /// The id of a message and the byte range of that id.
    pub(crate) fn id_in(bytes: &[u8]) -> Option<(RequestId, Range<usize>)> {
        let Parsed { envelope, id_span, .. } = Self::parse_located(bytes).ok()?;
        match envelope {
            Self::Request(id) | Self::Response { id, .. } => Some((id, id_span?)),
            Self::Notification => None,
        }
    }

    /// The kind of the message, without its id.
    #[must_use]
    pub const fn kind(&self) -> MessageKind {
        match self {
            Self::Request(_) => MessageKind::Request,
            Self::Notification => MessageKind::Notification,
            Self::Response { .. } => MessageKind::Response,
        }
    }

    #[cfg(any(test, fuzzing))]
    pub(crate) fn parse_slowly(text: &str) -> Result<Self, EnvelopeError> {
        Self::read_slowly(text)?.into_envelope()
    }

    fn read_slowly(text: &str) -> Result<Fields, EnvelopeError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        reader
            .deserialize_any(FieldsVisitor { text })
            .and_then(|fields| reader.end().map(|()| fields))
            .map_err(|error| classify(text, &error))
    }
}

/// Distinguishes JSON that is not a message object (a batch or a bare value) from text that is not JSON.
fn classify(text: &str, error: &serde_json::Error) -> EnvelopeError {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) if text.trim_start().starts_with('[') => {
            EnvelopeError::Shape("a batch is not supported; send one message at a time")
        }
        Ok(_) if text.trim_start().starts_with('{') => {
            EnvelopeError::Shape("the id must be a string, a number or null, of at most 4096 bytes")
        }
        Ok(_) => EnvelopeError::Shape("a message is a JSON object"),
        Err(_) => EnvelopeError::Json(error.to_string()),
    }
}

/// The top-level fields that determine the envelope.
#[derive(Default)]
struct Fields {
    version_is_2: bool,
    id: Option<RequestId>,
    id_span: Option<Range<usize>>,
    has_method: bool,
    has_result: bool,
    has_error: bool,
}

impl Fields {
    fn into_envelope(self) -> Result<Envelope, EnvelopeError> {
        if !self.version_is_2 {
            return Err(EnvelopeError::Shape(r#"`"jsonrpc":"2.0"` is missing"#));
        }
        let is_error = self.has_error && !self.has_result;
        match (self.has_method, self.has_result || is_error, self.id) {
            (true, _, Some(id)) => Ok(Envelope::Request(id)),
            (true, _, None) => Ok(Envelope::Notification),
            (false, true, id) => Ok(Envelope::Response { id: id.unwrap_or_else(RequestId::null), is_error }),
            (false, false, _) => Err(EnvelopeError::Shape("none of `method`, `result` and `error` is there")),
        }
    }
}

/// Reads the fields of a message. Values are borrowed from `text`, so their position in it is known.
struct FieldsVisitor<'de> {
    text: &'de str,
}

impl<'de> Visitor<'de> for FieldsVisitor<'de> {
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
                    let start = raw.get().as_ptr().addr() - self.text.as_ptr().addr();
                    fields.id_span = Some(start..start + raw.get().len());
                }
                other => {
                    fields.has_method |= other == "method";
                    fields.has_result |= other == "result";
                    fields.has_error |= other == "error";
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

/// An object key, borrowed unless it contains escapes.
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

/// Puts a message on one line, in place. A raw line break cannot occur inside a JSON string, so every line
/// break is between tokens, where a space means the same.
pub(crate) fn flatten(message: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &message[from..]) {
        message[from + at] = b' ';
        from += at + 1;
    }
}

#[cfg(test)]
mod tests;

//! The heads of requests that need no second look: a POST of HTTP/1.1 with a body of a known length.
//!
//! Whatever could mean that the connection does not simply go on behind that body is not plain.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header};

use crate::exposure::is_same;

/// The longest head that is looked at.
const LONGEST: usize = 4 << 10;
/// More headers than anybody sends.
const MOST_HEADERS: usize = 48;
/// How every plain head begins.
const BEGINNING: &[u8] = b"POST /";
/// More digits than a plain length has.
const MOST_DIGITS: usize = 8;

/// What stands at the beginning of some bytes.
pub(crate) enum Found {
    /// The beginning of a head that may be plain.
    More,
    /// Anything else.
    Unusual,
    Head(Box<PlainHead>),
}

/// A head that is plain.
pub(crate) struct PlainHead {
    /// Without the length of the body.
    pub(crate) parts: Parts,
    pub(crate) body_length: usize,
    pub(crate) text: HeadText,
}

/// The bytes of a head, around the length of the body.
#[derive(Debug)]
pub(crate) struct HeadText {
    before: Box<[u8]>,
    after: Box<[u8]>,
    digits: usize,
}

impl PlainHead {
    /// Looks for one.
    pub(crate) fn find(bytes: &[u8]) -> Found {
        let shared = bytes.len().min(BEGINNING.len());
        if bytes[..shared] != BEGINNING[..shared] {
            return Found::Unusual;
        }
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes[..bytes.len().min(LONGEST)]) {
            Ok(httparse::Status::Complete(length)) => Self::of(&request, &bytes[..length])
                .map_or(Found::Unusual, |head| Found::Head(Box::new(head))),
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST => Found::More,
            Ok(httparse::Status::Partial) | Err(_) => Found::Unusual,
        }
    }

    fn of(request: &httparse::Request<'_, '_>, text: &[u8]) -> Option<Self> {
        // HTTP/1.1, by the last of its digits.
        if request.version != Some(1) {
            return None;
        }
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.method = Method::POST;
        parts.uri = Uri::from_maybe_shared(Bytes::copy_from_slice(request.path?.as_bytes())).ok()?;
        let mut length = None;
        for given in request.headers.iter() {
            let name = HeaderName::from_bytes(given.name.as_bytes()).ok()?;
            if name == header::CONTENT_LENGTH {
                // Twice is once too often.
                if length.replace(given.value).is_some() {
                    return None;
                }
                continue;
            }
            if !is_plain(&name, given.value) {
                return None;
            }
            parts.headers.append(name, HeaderValue::from_bytes(given.value).ok()?);
        }
        let length = length?;
        let body_length = number(length).filter(|number| *number > 0)?;
        // The value is a part of the text.
        let start = length.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        let (before, rest) = text.split_at_checked(start)?;
        let after = rest.strip_prefix(length)?;
        let text = HeadText { before: before.into(), after: after.into(), digits: length.len() };
        Some(Self { parts, body_length, text })
    }
}

impl HeadText {
    pub(crate) fn len(&self) -> usize {
        self.before.len() + self.digits + self.after.len()
    }

    /// The lengths of head and body, if the bytes begin with this very head but for the length of the body.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let (before, rest) = bytes.split_at_checked(self.before.len())?;
        let digits = rest.iter().take(MOST_DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
        let (length, rest) = rest.split_at(digits);
        let body_length = number(length).filter(|number| *number > 0)?;
        let after = rest.get(..self.after.len())?;
        // In a time that tells nothing: a token stands in the head, and a proxy may send requests of many clients over one
        // connection. None of them may learn how much of another's head it has guessed.
        (is_same(before, &self.before) & is_same(after, &self.after))
            .then_some((before.len() + digits + after.len(), body_length))
    }
}

/// Whether a header says nothing of how the connection goes on.
fn is_plain(name: &HeaderName, value: &[u8]) -> bool {
    match *name {
        header::TRANSFER_ENCODING | header::EXPECT | header::UPGRADE | header::TRAILER | header::TE => false,
        header::CONNECTION => value.eq_ignore_ascii_case(b"keep-alive"),
        _ => true,
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > MOST_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
#[path = "plain_head_tests.rs"]
mod tests;

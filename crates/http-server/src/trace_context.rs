//! The client's position in a distributed trace (W3C Trace Context).
//!
//! It is used for the log and passed to the request listener. It is never added to a message or sent to an agent, and
//! it is not returned to the client: the recommendation has no response header for it.

use http::{HeaderMap, HeaderName, HeaderValue};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// The longest `tracestate` that is kept; the recommendation requires at least this much.
const MAX_STATE: usize = 512;

/// A valid `traceparent`, with the `tracestate` that came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// `version-traceid-parentid-flags`, checked.
    parent: HeaderValue,
    state: Option<HeaderValue>,
}

impl TraceContext {
    /// The trace context that the client sent, if it is valid. Two `traceparent` headers are invalid.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut given = headers.get_all(TRACEPARENT).iter();
        let parent = given.next().filter(|value| is_valid(value.as_bytes()))?.clone();
        if given.next().is_some() {
            return None;
        }
        let state = headers.get(TRACESTATE).filter(|value| value.len() <= MAX_STATE).cloned();
        Some(Self { parent, state })
    }

    /// The trace id: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        self.part(3, 35)
    }

    /// The client's own span: 16 hexadecimal digits.
    #[must_use]
    pub fn parent_id(&self) -> &str {
        self.part(36, 52)
    }

    /// True when the client records its part of the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        u8::from_str_radix(self.part(53, 55), 16).is_ok_and(|flags| flags & 1 == 1)
    }

    /// The `tracestate`: vendor-specific data that tracing systems have added.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.state.as_ref().and_then(|state| state.to_str().ok())
    }

    fn part(&self, start: usize, end: usize) -> &str {
        // `is_valid` has checked that the text is ASCII and long enough.
        self.parent.to_str().ok().and_then(|text| text.get(start..end)).unwrap_or_default()
    }
}

/// Version 00 has exactly 55 characters; later versions may continue after another dash.
fn is_valid(text: &[u8]) -> bool {
    let digits = |start: usize, end: usize| {
        text[start..end].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let zero = |start: usize, end: usize| text[start..end].iter().all(|byte| *byte == b'0');
    let length = match text.get(..2) {
        Some(b"00") => text.len() == 55,
        Some(_) => text.len() == 55 || (text.len() > 55 && text[55] == b'-'),
        None => false,
    };
    length
        && [text[2], text[35], text[52]] == [b'-'; 3]
        && digits(0, 2)
        && &text[..2] != b"ff"
        && digits(3, 35)
        && !zero(3, 35)
        && digits(36, 52)
        && !zero(36, 52)
        && digits(53, 55)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn of(values: &[&str]) -> Option<TraceContext> {
        TraceContext::of(&values.iter().map(|value| (TRACEPARENT, value.parse().unwrap())).collect())
    }

    #[test]
    fn a_valid_parent_is_kept_with_its_parts() {
        let context = of(&[GOOD]).unwrap();
        assert_eq!(context.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.parent_id(), "00f067aa0ba902b7");
        assert!(context.is_sampled());
        assert!(!of(&[&GOOD.replace("-01", "-fe")]).unwrap().is_sampled());
        assert!(of(&[&format!("cc{}-what-comes-later", &GOOD[2..])]).is_some());
    }

    #[test]
    fn an_invalid_parent_is_ignored() {
        for bad in [
            "",
            "00",
            "00-x",
            &GOOD[..54],
            &GOOD.to_uppercase(),
            &format!("{GOOD}-more"),
            &format!("ff{}", &GOOD[2..]),
            &format!("cc{}.more", &GOOD[2..]),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", "00000000000000000000000000000000"),
            &GOOD.replace("00f067aa0ba902b7", "0000000000000000"),
            &GOOD.replace('-', "_"),
            &GOOD.replace("01", "0g"),
        ] {
            assert_eq!(of(&[bad]), None, "{bad}");
        }
        assert_eq!(of(&[GOOD, GOOD]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn the_state_is_kept_only_with_a_valid_parent() {
        let mut headers = HeaderMap::from_iter([(TRACESTATE, HeaderValue::from_static("vendor=1"))]);
        assert_eq!(TraceContext::of(&headers), None);
        headers.insert(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert_eq!(TraceContext::of(&headers).unwrap().state(), Some("vendor=1"));
        headers.insert(TRACESTATE, "x".repeat(MAX_STATE + 1).parse().unwrap());
        assert_eq!(TraceContext::of(&headers).unwrap().state(), None);
    }
}

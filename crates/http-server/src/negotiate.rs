//! `Accept` and `Content-Type`: as much of RFC 9110 as an endpoint with one representation needs.

use http::{HeaderMap, HeaderValue, header};

use crate::{Code, Problem};

/// True when the `Accept` headers allow `wanted` (a full `type/subtype`), or when there are none.
#[must_use]
pub fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut ranges =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    if ranges.peek().is_none() {
        return true;
    }
    // The most specific range that matches decides, so that `*/*, text/html;q=0` excludes `text/html`.
    ranges
        .flat_map(|value| value.split(','))
        .filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let precision = specificity(parts.next()?, wanted)?;
            let refused = parts.any(is_zero_quality);
            Some((precision, !refused))
        })
        .max_by_key(|(precision, _)| *precision)
        .is_some_and(|(_, allowed)| allowed)
}

/// Checks that the client accepts `wanted`.
///
/// # Errors
/// 406 `not_acceptable`.
pub fn require_accept(headers: &HeaderMap, wanted: &'static str) -> Result<(), Problem> {
    if accepts(headers, wanted) {
        return Ok(());
    }
    Err(Problem::new(Code::NotAcceptable, format!("this endpoint sends {wanted}; send `Accept: {wanted}`")))
}

/// The media type of the body, lower case, without its parameters.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_TYPE).map(HeaderValue::to_str)?.ok()?;
    let essence = text.split(';').next()?.trim();
    (!essence.is_empty()).then(|| essence.to_ascii_lowercase())
}

/// Checks that the body is declared as JSON.
///
/// # Errors
/// 415 `unsupported_media_type`.
pub fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    // The usual spelling needs no allocation.
    if headers.get(header::CONTENT_TYPE).is_some_and(|value| value == "application/json") {
        return Ok(());
    }
    match media_type(headers) {
        Some(essence) if essence == "application/json" => Ok(()),
        Some(other) => Err(Problem::new(
            Code::UnsupportedMediaType,
            format!("the body is {other}; send it as `Content-Type: application/json`"),
        )),
        None => Err(Problem::new(
            Code::UnsupportedMediaType,
            "the body has no content type; send `Content-Type: application/json`",
        )),
    }
}

fn specificity(range: &str, wanted: &str) -> Option<u8> {
    if range.eq_ignore_ascii_case(wanted) {
        return Some(2);
    }
    if range == "*/*" {
        return Some(0);
    }
    let (range_type, range_subtype) = range.split_once('/')?;
    let (wanted_type, _) = wanted.split_once('/')?;
    (range_subtype == "*" && range_type.eq_ignore_ascii_case(wanted_type)).then_some(1)
}

fn is_zero_quality(parameter: &str) -> bool {
    parameter
        .split_once('=')
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .and_then(|(_, value)| value.trim().parse::<f32>().ok())
        .is_some_and(|quality| quality <= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(value))])
    }

    #[test]
    fn accept_follows_the_most_specific_range() {
        let json = "application/json";
        assert!(accepts(&HeaderMap::new(), json));
        assert!(accepts(&accept("*/*"), json));
        assert!(accepts(&accept("text/html, application/*;q=0.2"), json));
        assert!(accepts(&accept("application/json, text/event-stream"), json));
        assert!(!accepts(&accept("text/html"), json));
        assert!(!accepts(&accept("*/*, application/json;q=0"), json));
        assert!(!accepts(&accept(""), json));
    }

    #[test]
    fn a_json_body_needs_a_json_content_type_with_or_without_parameters() {
        let with = |value| HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(value))]);
        assert!(require_json(&with("application/json")).is_ok());
        assert!(require_json(&with("Application/JSON; charset=utf-8")).is_ok());
        assert!(require_json(&with("text/plain")).is_err());
        assert!(require_json(&HeaderMap::new()).is_err());
    }
}

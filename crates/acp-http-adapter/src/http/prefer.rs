//! The `Prefer` header (RFC 7240). Unknown preferences are ignored, as the RFC requires.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// How a client wants its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Preferences {
    /// The answer may be sent on the stream.
    pub(super) respond_async: bool,
    /// How long the client wants to wait.
    pub(super) wait: Option<Duration>,
}

impl Preferences {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut preferences = Self::default();
        let values = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        for preference in values.flat_map(|value| value.split(',')) {
            let preference = preference.split(';').next().unwrap_or_default().trim();
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            if name.eq_ignore_ascii_case("respond-async") {
                preferences.respond_async = true;
            } else if name.eq_ignore_ascii_case("wait") && preferences.wait.is_none() {
                preferences.wait = value.parse().ok().map(Duration::from_secs);
            }
        }
        preferences
    }

    /// True if the client does not want to wait at all.
    pub(super) const fn at_once(self) -> bool {
        self.respond_async && self.wait.is_none()
    }

    /// The `Preference-Applied` header of an answer that honours these preferences.
    pub(super) fn applied(self) -> Option<HeaderValue> {
        let text = match (self.respond_async, self.wait) {
            (true, None) => return Some(HeaderValue::from_static("respond-async")),
            (true, Some(wait)) => format!("respond-async, wait={}", wait.as_secs()),
            (false, Some(wait)) => format!("wait={}", wait.as_secs()),
            (false, None) => return None,
        };
        HeaderValue::try_from(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefer(values: &[&'static str]) -> Preferences {
        Preferences::of(&values.iter().map(|value| (PREFER, HeaderValue::from_static(value))).collect())
    }

    #[test]
    fn preferences_are_read_from_all_headers_and_the_rest_is_ignored() {
        assert_eq!(prefer(&[]), Preferences::default());
        assert!(prefer(&["Respond-Async"]).respond_async);
        let both = prefer(&["return=minimal, wait=10;x=y", "respond-async"]);
        assert_eq!(both, Preferences { respond_async: true, wait: Some(Duration::from_secs(10)) });
        assert_eq!(both.applied().unwrap(), "respond-async, wait=10");
        assert_eq!(prefer(&["wait=soon"]).wait, None);
        assert_eq!(prefer(&["wait=\"3\""]).wait, Some(Duration::from_secs(3)));
    }
}

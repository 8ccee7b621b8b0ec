//! Where a reader left off.

use http::HeaderMap;
use http_edge::{Code, Problem};
use utoipa::ToSchema;

const LAST_EVENT_ID: &str = "last-event-id";

/// How much of the past a reader without a cursor wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum Replay {
    /// All that is held.
    All,
    /// Nothing: start at the newest.
    #[schema(rename = "none")]
    Nothing,
}

/// A place in one instance's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageCursor {
    /// At the oldest message still held.
    Oldest,
    /// At the newest.
    Newest,
    /// Right behind this message.
    After(u64),
}

/// A place in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JournalCursor {
    /// At the oldest event still held.
    Oldest,
    /// At the newest.
    Newest,
    /// Right behind this event.
    After(u64),
}

impl MessageCursor {
    /// # Errors
    /// 400 `invalid_cursor` when `Last-Event-ID` is not a number of the stream.
    pub(crate) fn of(headers: &HeaderMap, replay: Replay) -> Result<Self, Problem> {
        match last_event_id(headers)? {
            None | Some("0") => Ok(if replay == Replay::All { Self::Oldest } else { Self::Newest }),
            Some(text) => number(text).map(Self::After).ok_or_else(|| foreign(text, "a number, as in `id:`")),
        }
    }
}

impl JournalCursor {
    /// # Errors
    /// 400 `invalid_cursor` when `Last-Event-ID` is not a number of the journal.
    pub(crate) fn of(headers: &HeaderMap, replay: Replay) -> Result<Self, Problem> {
        match last_event_id(headers)? {
            None | Some("0" | "j0") => Ok(if replay == Replay::All { Self::Oldest } else { Self::Newest }),
            Some(text) => text
                .strip_prefix('j')
                .and_then(number)
                .map(Self::After)
                .ok_or_else(|| foreign(text, "`j` and a number, as in `id:`")),
        }
    }
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = value.to_str().map_err(|_| foreign("", "visible ASCII characters"))?.trim();
    Ok((!text.is_empty()).then_some(text))
}

/// Digits only: `+5` is a number to Rust, but nothing that this server ever sent.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn foreign(text: &str, expected: &str) -> Problem {
    Problem::new(
        Code::InvalidCursor,
        format!("`Last-Event-ID: {text}` is not a cursor of this stream; send {expected}, or leave it out"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(http::HeaderName::from_static(LAST_EVENT_ID), value.parse().unwrap())])
    }

    #[test]
    fn a_cursor_is_a_number_that_the_stream_sent() {
        let of = |value: &str| MessageCursor::of(&headers(value), Replay::All);
        assert_eq!(MessageCursor::of(&HeaderMap::new(), Replay::All).unwrap(), MessageCursor::Oldest);
        assert_eq!(MessageCursor::of(&HeaderMap::new(), Replay::Nothing).unwrap(), MessageCursor::Newest);
        assert_eq!(of("0").unwrap(), MessageCursor::Oldest);
        assert_eq!(of("").unwrap(), MessageCursor::Oldest);
        assert_eq!(of("17").unwrap(), MessageCursor::After(17));
        for bad in ["j17", "-1", "+5", "1.5", "abc", "99999999999999999999999"] {
            assert_eq!(of(bad).unwrap_err().code(), Code::InvalidCursor, "{bad}");
        }
    }

    #[test]
    fn a_journal_cursor_has_its_letter() {
        let of = |value: &str| JournalCursor::of(&headers(value), Replay::All);
        assert_eq!(of("j17").unwrap(), JournalCursor::After(17));
        assert_eq!(of("j0").unwrap(), JournalCursor::Oldest);
        for bad in ["17", "j", "jj1", "k5"] {
            assert_eq!(of(bad).unwrap_err().code(), Code::InvalidCursor, "{bad}");
        }
    }
}

//! `Last-Event-ID` and `?replay=`: where a stream starts.

use acp_instances::{JournalCursor, MessageCursor};
use http::HeaderMap;
use http_server::{Code, Problem, Query, query};
use utoipa::ToSchema;

const LAST_EVENT_ID: &str = "last-event-id";

/// Where a reader without a cursor starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum Replay {
    /// At the oldest stored event.
    All,
    /// At the newest event.
    #[schema(rename = "none")]
    Nothing,
}

/// Which messages are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum View {
    /// Messages of agents.
    Messages,
    /// Messages in both directions.
    Journal,
}

/// Which instances are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum Listed {
    /// Those that exist.
    Current,
    /// Also closed instances whose history is stored.
    All,
}

impl Listed {
    pub(super) fn of(query: &Query<'_>) -> Result<Self, Problem> {
        match query.one("status")? {
            None | Some("current") => Ok(Self::Current),
            Some("all") => Ok(Self::All),
            Some(other) => {
                Err(query::invalid("status", format!("`status` must be current or all, not `{other}`")))
            }
        }
    }
}

impl Replay {
    pub(super) fn of(query: &Query<'_>) -> Result<Self, Problem> {
        match query.one("replay")? {
            None | Some("all") => Ok(Self::All),
            Some("none") => Ok(Self::Nothing),
            Some(other) => {
                Err(query::invalid("replay", format!("`replay` must be all or none, not `{other}`")))
            }
        }
    }
}

impl View {
    pub(super) fn of(query: &Query<'_>) -> Result<Self, Problem> {
        match query.one("view")? {
            None | Some("messages") => Ok(Self::Messages),
            Some("journal") => Ok(Self::Journal),
            Some(other) => {
                Err(query::invalid("view", format!("`view` must be messages or journal, not `{other}`")))
            }
        }
    }
}

/// Where a stream of messages starts: after `Last-Event-ID`, or else where `replay` says.
///
/// # Errors
/// 400 `invalid_cursor` when `Last-Event-ID` is not a number of the stream.
pub(super) fn message_cursor(headers: &HeaderMap, replay: Replay) -> Result<MessageCursor, Problem> {
    let text = last_event_id(headers)?;
    match text.parse().map_err(|_| foreign(text, "a number, as in `id:`"))? {
        MessageCursor::Oldest if replay == Replay::Nothing => Ok(MessageCursor::Newest),
        cursor => Ok(cursor),
    }
}

/// Where a journal stream starts: after `Last-Event-ID`, or else where `replay` says.
///
/// # Errors
/// 400 `invalid_cursor` when `Last-Event-ID` is not a number of the journal.
pub(super) fn journal_cursor(headers: &HeaderMap, replay: Replay) -> Result<JournalCursor, Problem> {
    let text = last_event_id(headers)?;
    match text.parse().map_err(|_| foreign(text, "`j` and a number, as in `id:`"))? {
        JournalCursor::Oldest if replay == Replay::Nothing => Ok(JournalCursor::Newest),
        cursor => Ok(cursor),
    }
}

fn last_event_id(headers: &HeaderMap) -> Result<&str, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok("") };
    Ok(value.to_str().map_err(|_| foreign("", "visible ASCII characters"))?.trim())
}

fn foreign(text: &str, expected: &str) -> Problem {
    Problem::new(
        Code::InvalidCursor,
        format!("`Last-Event-ID: {text}` is not a cursor of this stream; send {expected}, or omit it"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(http::HeaderName::from_static(LAST_EVENT_ID), value.parse().unwrap())])
    }

    #[test]
    fn without_a_cursor_a_stream_starts_where_replay_says() {
        for none in [HeaderMap::new(), headers(""), headers(" 0 ")] {
            assert_eq!(message_cursor(&none, Replay::All).unwrap(), MessageCursor::Oldest);
            assert_eq!(message_cursor(&none, Replay::Nothing).unwrap(), MessageCursor::Newest);
            assert_eq!(journal_cursor(&none, Replay::Nothing).unwrap(), JournalCursor::Newest);
        }
        assert_eq!(message_cursor(&headers("17"), Replay::Nothing).unwrap(), MessageCursor::After(17));
        assert_eq!(journal_cursor(&headers("j17"), Replay::All).unwrap(), JournalCursor::After(17));
    }

    #[test]
    fn a_cursor_of_another_stream_is_refused() {
        assert_eq!(message_cursor(&headers("j17"), Replay::All).unwrap_err().code(), Code::InvalidCursor);
        assert_eq!(journal_cursor(&headers("17"), Replay::All).unwrap_err().code(), Code::InvalidCursor);
    }
}

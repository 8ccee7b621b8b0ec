//! Cursors: the places where readers left off. They have a text form that doors (transports such as HTTP)
//! pass to clients.

use std::fmt;
use std::str::FromStr;

/// A place in the messages of one instance. Its text form is a number; the empty text and `0` mean the
/// beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageCursor {
    /// Before the oldest event that is still held.
    #[default]
    Oldest,
    /// After the newest event.
    Newest,
    /// Right after the event with this sequence number.
    After(u64),
}

/// A place among the events of all instances. Its text form is `j` followed by a number; the empty text, `0`
/// and `j0` mean the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JournalCursor {
    /// Before the oldest event that is still held.
    #[default]
    Oldest,
    /// After the newest event.
    Newest,
    /// Right after the event at this position.
    After(u64),
}

/// A text that is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a cursor is {expected}")]
pub struct InvalidCursor {
    /// What a cursor of this kind looks like.
    pub expected: &'static str,
}

impl FromStr for MessageCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        match text {
            "" => Ok(Self::Oldest),
            text => match number(text).ok_or(InvalidCursor { expected: "a number" })? {
                0 => Ok(Self::Oldest),
                sequence => Ok(Self::After(sequence)),
            },
        }
    }
}

impl FromStr for JournalCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let invalid = InvalidCursor { expected: "`j` and a number" };
        match text {
            "" | "0" => Ok(Self::Oldest),
            text => match text.strip_prefix('j').and_then(number).ok_or(invalid)? {
                0 => Ok(Self::Oldest),
                position => Ok(Self::After(position)),
            },
        }
    }
}

impl fmt::Display for MessageCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oldest => formatter.write_str("0"),
            Self::Newest => Ok(()),
            Self::After(sequence) => write!(formatter, "{sequence}"),
        }
    }
}

impl fmt::Display for JournalCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oldest => formatter.write_str("j0"),
            Self::Newest => Ok(()),
            Self::After(position) => write!(formatter, "j{position}"),
        }
    }
}

/// Accepts digits only: Rust also parses `+5`, but the server never sends such a cursor.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cursor_is_a_number() {
        assert_eq!("".parse(), Ok(MessageCursor::Oldest));
        for zero in ["0", "00"] {
            assert_eq!(zero.parse(), Ok(MessageCursor::Oldest));
        }
        assert_eq!("17".parse(), Ok(MessageCursor::After(17)));
        assert_eq!(MessageCursor::After(17).to_string(), "17");
        for bad in ["j17", "-1", "+5", "1.5", "abc", "99999999999999999999999"] {
            assert!(bad.parse::<MessageCursor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_journal_cursor_starts_with_the_letter_j() {
        assert_eq!("j17".parse(), Ok(JournalCursor::After(17)));
        for zero in ["0", "j0", "j00"] {
            assert_eq!(zero.parse(), Ok(JournalCursor::Oldest));
        }
        assert_eq!(JournalCursor::After(17).to_string(), "j17");
        for bad in ["17", "j", "jj1", "k5"] {
            assert!(bad.parse::<JournalCursor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_ends_have_a_text_form_too() {
        assert_eq!(
            [MessageCursor::Oldest, MessageCursor::Newest].map(|cursor| cursor.to_string()),
            ["0", ""]
        );
        assert_eq!(
            [JournalCursor::Oldest, JournalCursor::Newest].map(|cursor| cursor.to_string()),
            ["j0", ""]
        );
    }
}

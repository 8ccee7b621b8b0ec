//! Server-sent event streams over the log.
//!
//! A feed walks the log with a cursor of its own and is pulled by its connection, as fast as that connection
//! takes it. Where what it is owed has been forgotten, it says so.

mod cursor;
mod feed;
mod journal;
mod many;
mod messages;

pub(crate) use cursor::{JournalCursor, MessageCursor, Replay};
pub(crate) use feed::respond;
pub(crate) use journal::JournalFeed;
pub(crate) use many::{ManyFeed, Selection, View};
pub(crate) use messages::MessageFeed;

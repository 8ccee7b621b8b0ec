//! The events that an instance's logs hold.

use std::ops::Range;

use event_log::{Record, RecordInfo, Run, Tag};
use serde::{Deserialize, Serialize};

use crate::caller::Asker;
use crate::envelope::{Envelope, MessageKind};
use crate::error::Error;
use crate::exit::ExitRecord;
use crate::request_id::RequestId;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A message from the agent, in the agent's own bytes.
    Message(MessageKind),
    /// A message from a client, in the client's own bytes.
    Sent(MessageKind),
    /// A line that the agent wrote and that is not a message: [`Event::bytes`] is JSON with `line`, `error`
    /// and `bytes`.
    Unparsed,
    /// A client answered an agent request: [`Event::bytes`] is JSON with the request's `id` and its `event`
    /// number.
    Answered,
    /// A client request that no caller waits for any more will get no answer: see [`Event::failure`].
    Failed,
    /// The agent's process ended: see [`Event::exit`].
    Exit,
    /// The journal cannot be written: JSON with the `reason`. Events from here on are lost if the server dies.
    JournalSuspended,
    /// The journal is written again.
    JournalResumed,
}

impl EventKind {
    pub(crate) const fn tag(self) -> Tag {
        Tag(match self {
            Self::Message(kind) => kind.code(),
            Self::Sent(kind) => 4 + kind.code(),
            Self::Unparsed => 8,
            Self::Answered => 9,
            Self::Failed => 10,
            Self::Exit => 11,
            Self::JournalSuspended => 12,
            Self::JournalResumed => 13,
        })
    }

    const fn of(tag: Tag) -> Self {
        match tag.0 {
            code @ 0..4 => Self::Message(MessageKind::of_code(code)),
            code @ 4..8 => Self::Sent(MessageKind::of_code(code - 4)),
            8 => Self::Unparsed,
            9 => Self::Answered,
            10 => Self::Failed,
            12 => Self::JournalSuspended,
            13 => Self::JournalResumed,
            _ => Self::Exit,
        }
    }

    /// True if events of this kind get a sequence number of their own.
    #[must_use]
    pub const fn is_numbered(self) -> bool {
        matches!(self, Self::Message(_) | Self::Exit)
    }

    /// The tag and numbering of a record of this kind.
    #[must_use]
    pub const fn info(self) -> RecordInfo {
        RecordInfo { tag: self.tag(), is_numbered: self.is_numbered(), mark: 0 }
    }
}

/// One event as readers receive it.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a>(Record<'a>);

impl<'a> Event<'a> {
    /// Interprets a record of an instance's log as an event.
    #[must_use]
    pub const fn new(record: Record<'a>) -> Self {
        Self(record)
    }

    /// The kind of the event.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        EventKind::of(self.0.tag)
    }

    /// The event's sequence number, if its kind is numbered.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.0.is_numbered.then_some(self.0.sequence)
    }

    /// The event's place among the events of all instances.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.0.order
    }

    /// When the event was logged, in milliseconds since the Unix epoch.
    #[must_use]
    pub const fn at_ms(&self) -> u64 {
        self.0.at_ms
    }

    /// The payload: a message's own bytes on one line, or the JSON that [`EventKind`] describes.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.0.bytes
    }

    /// The JSON-RPC id of a message and its byte range in [`Event::bytes`], with which a door (a transport)
    /// can replace the id without rebuilding the message. `None` for notifications and for events that are
    /// not messages.
    #[must_use]
    pub fn id(&self) -> Option<(RequestId, Range<usize>)> {
        match self.kind() {
            EventKind::Message(MessageKind::Request | MessageKind::Response)
            | EventKind::Sent(MessageKind::Request | MessageKind::Response) => Envelope::id_in(self.0.bytes),
            _ => None,
        }
    }

    /// The connection that a response is for, or that a message came from. `None` unless the responses to this connection
    /// are kept from all others.
    #[must_use]
    pub const fn asker(&self) -> Option<Asker> {
        Asker::of_mark(self.0.mark)
    }

    /// The payload of an [`EventKind::Exit`]; `None` for other kinds.
    #[must_use]
    pub fn exit(&self) -> Option<ExitRecord> {
        (self.kind() == EventKind::Exit).then(|| serde_json::from_slice(self.0.bytes).ok())?
    }

    /// The payload of an [`EventKind::Failed`]; `None` for other kinds.
    #[must_use]
    pub fn failure(&self) -> Option<FailedRequest> {
        (self.kind() == EventKind::Failed).then(|| serde_json::from_slice(self.0.bytes).ok())?
    }
}

/// The events of a run of records.
pub fn events(run: &Run) -> impl ExactSizeIterator<Item = Event<'_>> {
    run.records().map(Event)
}

/// A client request that will get no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRequest {
    /// The request's id, with all digits of a number.
    #[serde(deserialize_with = "RequestId::deserialize_exactly")]
    pub id: RequestId,
    /// Why the request gets no answer.
    pub error: Error,
}

impl FailedRequest {
    pub(crate) fn to_json(&self) -> String {
        // The struct consists of text, numbers and lists, so serialising cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_tag_of_its_own() {
        let kinds = [MessageKind::Request, MessageKind::Notification, MessageKind::Response];
        let mut all = vec![EventKind::Unparsed, EventKind::Answered, EventKind::Failed, EventKind::Exit];
        all.extend(kinds.map(EventKind::Message));
        all.extend(kinds.map(EventKind::Sent));
        for kind in all {
            assert_eq!(EventKind::of(kind.tag()), kind);
        }
    }

    #[test]
    fn an_id_can_be_replaced_by_its_span() {
        let message = br#"{"jsonrpc":"2.0","params":{"id":1},"id" : "a\u0062" ,"method":"x"}"#;
        let record = Record {
            order: 1,
            sequence: 1,
            is_numbered: true,
            at_ms: 0,
            tag: EventKind::Message(MessageKind::Request).tag(),
            mark: 0,
            bytes: message,
        };
        let (id, span) = Event::new(record).id().unwrap();
        assert_eq!(id, RequestId::parse("\"ab\"").unwrap());
        assert_eq!(&message[span], br#""a\u0062""#);
    }

    #[test]
    fn a_failure_reads_back() {
        let id = RequestId::parse("12345678901234567890123").unwrap();
        let failed = FailedRequest { id, error: Error::InstanceClosed };
        let expected = r#"{"id":12345678901234567890123,"error":{"kind":"instance_closed"}}"#;
        assert_eq!(failed.to_json(), expected);
        assert_eq!(serde_json::from_str::<FailedRequest>(&failed.to_json()).unwrap(), failed);
    }
}

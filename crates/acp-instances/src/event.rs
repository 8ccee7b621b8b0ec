//! What a log holds of an instance.

use std::ops::Range;

use event_log::{Record, RecordInfo, Run, Tag};
use serde::{Deserialize, Serialize};

use crate::caller::Asker;
use crate::envelope::{Envelope, MessageKind};
use crate::error::Error;
use crate::exit::ExitRecord;
use crate::request_id::RequestId;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A message of the agent. Its bytes are the agent's own.
    Message(MessageKind),
    /// A message of a client. Its bytes are the client's own.
    Sent(MessageKind),
    /// A line of the agent that is not a message: [`Event::bytes`] is JSON with `line`, `error` and `bytes`.
    Unparsed,
    /// A client answered a request of the agent: JSON with the request's `id` and its `event`.
    Answered,
    /// A request that no caller waits for will get no answer: see [`Event::failure`].
    Failed,
    /// The end of the process: see [`Event::exit`].
    Exit,
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
        })
    }

    const fn of(tag: Tag) -> Self {
        match tag.0 {
            code @ 0..4 => Self::Message(MessageKind::of_code(code)),
            code @ 4..8 => Self::Sent(MessageKind::of_code(code - 4)),
            8 => Self::Unparsed,
            9 => Self::Answered,
            10 => Self::Failed,
            _ => Self::Exit,
        }
    }

    /// True when the event takes a sequence number of its own.
    #[must_use]
    pub const fn is_numbered(self) -> bool {
        matches!(self, Self::Message(_) | Self::Exit)
    }

    /// How a record of this kind goes into a log.
    #[must_use]
    pub const fn info(self) -> RecordInfo {
        RecordInfo { tag: self.tag(), is_numbered: self.is_numbered(), mark: 0 }
    }
}

/// One event as readers see it.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a>(Record<'a>);

impl<'a> Event<'a> {
    /// A record of an instance's log, as an event.
    #[must_use]
    pub const fn new(record: Record<'a>) -> Self {
        Self(record)
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        EventKind::of(self.0.tag)
    }

    /// Its sequence number, where it has one of its own.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.0.is_numbered.then_some(self.0.sequence)
    }

    /// Its place among the events of all instances.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.0.order
    }

    /// When it happened, in milliseconds since 1970.
    #[must_use]
    pub const fn at_ms(&self) -> u64 {
        self.0.at_ms
    }

    /// What it carries: a message's own bytes on one line, or the JSON that [`EventKind`] describes.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.0.bytes
    }

    /// A message's JSON-RPC id, and where its bytes stand in [`Event::bytes`]. A door can replace them without
    /// rebuilding the message. Nothing for notifications and for events that are not messages.
    #[must_use]
    pub fn id(&self) -> Option<(RequestId, Range<usize>)> {
        match self.kind() {
            EventKind::Message(MessageKind::Request | MessageKind::Response)
            | EventKind::Sent(MessageKind::Request | MessageKind::Response) => Envelope::id_in(self.0.bytes),
            _ => None,
        }
    }

    /// Which caller a response answers or a message came from, where that caller has a name.
    #[must_use]
    pub const fn asker(&self) -> Option<Asker> {
        Asker::of_mark(self.0.mark)
    }

    /// What an [`EventKind::Exit`] says.
    #[must_use]
    pub fn exit(&self) -> Option<ExitRecord> {
        (self.kind() == EventKind::Exit).then(|| serde_json::from_slice(self.0.bytes).ok())?
    }

    /// What an [`EventKind::Failed`] says.
    #[must_use]
    pub fn failure(&self) -> Option<FailedRequest> {
        (self.kind() == EventKind::Failed).then(|| serde_json::from_slice(self.0.bytes).ok())?
    }
}

/// The events of a run.
pub fn events(run: &Run) -> impl ExactSizeIterator<Item = Event<'_>> {
    run.records().map(Event)
}

/// A request of a client that will get no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRequest {
    /// The request's id, to its last digit.
    #[serde(deserialize_with = "RequestId::deserialize_exactly")]
    pub id: RequestId,
    /// Why.
    pub error: Error,
}

impl FailedRequest {
    pub(crate) fn to_json(&self) -> String {
        // Text, numbers and lists of them: nothing here can fail to serialise.
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

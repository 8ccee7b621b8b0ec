//! Server-sent event framing.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::EventKind;

/// Where one framed event stands in its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) frame_start: u32,
    pub(crate) data_start: u32,
    pub(crate) data_end: u32,
}

impl Span {
    pub(crate) fn data(self) -> Range<usize> {
        self.data_start as usize..self.data_end as usize
    }
}

/// Frames events one behind the other into one chunk.
#[derive(Debug, Default)]
pub(crate) struct Framer(BytesMut);

impl Framer {
    /// What a frame takes beside its payload, at the most.
    pub(crate) const OVERHEAD: usize = 64;

    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(BytesMut::with_capacity(bytes))
    }

    /// Frames an event as `GET /v1/acp/{server_id}` sends it. Line breaks in the payload become spaces, since a
    /// raw CR would end an SSE line.
    pub(crate) fn push(&mut self, kind: EventKind, sequence: Option<u64>, data: &[u8]) -> Span {
        self.open(kind.name(), sequence.map(Id::Sequence), data)
    }

    /// Frames an event as `?view=journal` sends it. A comment carries what has no field of its own: when it
    /// happened and, for numbered events, the number that `answered` and `gap` speak of.
    pub(crate) fn push_journal(&mut self, entry: &super::Entry) {
        self.text(": at ");
        self.number(entry.at_ms);
        if entry.kind.is_numbered() {
            self.text(" event ");
            self.number(entry.sequence);
        }
        self.text("\n");
        self.open(entry.kind.name(), Some(Id::Journal(entry.journal)), &entry.data());
    }

    /// Frames an event that belongs to no log.
    pub(crate) fn push_plain(&mut self, name: &str, id: Option<u64>, data: &[u8]) {
        self.open(name, id.map(Id::Sequence), data);
    }

    /// Frames an event with a journal cursor.
    pub(crate) fn push_cursor(&mut self, name: &str, journal: u64, data: &[u8]) {
        self.open(name, Some(Id::Journal(journal)), data);
    }

    fn open(&mut self, name: &str, id: Option<Id>, data: &[u8]) -> Span {
        let frame_start = self.position();
        self.text("event: ");
        self.text(name);
        match id {
            Some(Id::Sequence(number)) => {
                self.text("\nid: ");
                self.number(number);
            }
            Some(Id::Journal(number)) => {
                self.text("\nid: j");
                self.number(number);
            }
            None => {}
        }
        self.text("\ndata: ");
        let data_start = self.position();
        self.0.extend_from_slice(data);
        crate::envelope::flatten(&mut self.0[data_start as usize..]);
        let data_end = self.position();
        self.text("\n\n");
        Span { frame_start, data_start, data_end }
    }

    /// Appends what is framed already.
    pub(crate) fn append(&mut self, frames: &[u8]) {
        self.0.extend_from_slice(frames);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn finish(self) -> Bytes {
        self.0.freeze()
    }

    fn position(&self) -> u32 {
        // A chunk holds what one read brought, at most a message over the limits' largest; see `Limits`.
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }
}

#[derive(Clone, Copy)]
enum Id {
    Sequence(u64),
    Journal(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_event_id_data_and_an_empty_line() {
        let mut framer = Framer::default();
        let first = framer.push(EventKind::Message, Some(7), b"{\"a\":\r1}");
        let second = framer.push(EventKind::Unparsed, None, b"{}");
        let chunk = framer.finish();
        assert_eq!(&chunk[..], b"event: message\nid: 7\ndata: {\"a\": 1}\n\nevent: unparsed\ndata: {}\n\n");
        assert_eq!(&chunk[first.data()], b"{\"a\": 1}");
        assert_eq!(second.frame_start, first.data_end + 2);
    }
}

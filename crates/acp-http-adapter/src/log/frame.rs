//! Server-sent event framing.

use bytes::{Bytes, BytesMut};

use super::{EventKind, Slot};

/// Frames events one behind the other into one chunk.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    frames: BytesMut,
    /// How many numbered events there are so far.
    numbered: u32,
}

impl Framer {
    /// What a frame takes beside its payload, at the most.
    pub(crate) const OVERHEAD: usize = 64;

    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { frames: BytesMut::with_capacity(bytes), numbered: 0 }
    }

    /// Frames into memory that is there already.
    pub(crate) fn reusing(memory: BytesMut) -> Self {
        Self { frames: memory, numbered: 0 }
    }

    /// Frames an event as `GET /v1/acp/{server_id}` sends it. Line breaks in the payload become spaces, since a
    /// raw CR would end an SSE line.
    pub(crate) fn push(&mut self, kind: EventKind, sequence: Option<u64>, data: &[u8]) -> Slot {
        let frame_start = self.position();
        self.head(kind.name(), sequence.map(Id::Sequence));
        let data_start = self.position();
        self.data(data);
        self.slot(kind, frame_start, data_start)
    }

    /// What nearly every event is, in as few steps as it takes: a message without line breaks.
    pub(crate) fn push_line(&mut self, number: u64, line: &[u8]) -> Slot {
        let frame_start = self.position();
        self.text("event: message\nid: ");
        self.number(number);
        self.text("\ndata: ");
        let data_start = self.position();
        self.frames.extend_from_slice(line);
        self.text("\n\n");
        self.slot(EventKind::Message, frame_start, data_start)
    }

    fn slot(&mut self, kind: EventKind, frame_start: u32, data_start: u32) -> Slot {
        self.numbered += u32::from(kind.is_numbered());
        Slot {
            frame_start,
            data_end: self.position() - 2,
            numbered: self.numbered,
            // A head is a name and two numbers at the most.
            data_offset: u8::try_from(data_start - frame_start).unwrap_or(u8::MAX),
            kind,
        }
    }

    /// Frames an event as `?view=journal` sends it. A comment carries what has no field of its own: when it
    /// happened and, for numbered events, the number that `answered` and `gap` speak of.
    pub(crate) fn push_journal(&mut self, entry: &super::Entry<'_>) {
        self.text(": at ");
        self.number(entry.at_ms);
        if entry.kind.is_numbered() {
            self.text(" event ");
            self.number(entry.sequence);
        }
        self.text("\n");
        self.open(entry.kind.name(), Some(Id::Journal(entry.journal)), entry.data);
    }

    /// Frames an event that belongs to no log.
    pub(crate) fn push_plain(&mut self, name: &str, id: Option<u64>, data: &[u8]) {
        self.open(name, id.map(Id::Sequence), data);
    }

    /// Frames an event with a journal cursor.
    pub(crate) fn push_cursor(&mut self, name: &str, journal: u64, data: &[u8]) {
        self.open(name, Some(Id::Journal(journal)), data);
    }

    fn open(&mut self, name: &str, id: Option<Id>, data: &[u8]) {
        self.head(name, id);
        self.data(data);
    }

    fn head(&mut self, name: &str, id: Option<Id>) {
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
    }

    fn data(&mut self, data: &[u8]) {
        let start = self.frames.len();
        self.frames.extend_from_slice(data);
        crate::envelope::flatten(&mut self.frames[start..]);
        self.text("\n\n");
    }

    /// Appends what is framed already.
    pub(crate) fn append(&mut self, frames: &[u8]) {
        self.frames.extend_from_slice(frames);
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn finish(self) -> Bytes {
        self.frames.freeze()
    }

    fn position(&self) -> u32 {
        // A chunk holds what one read brought, at most a message over the limits' largest; see `Limits`.
        u32::try_from(self.frames.len()).unwrap_or(u32::MAX)
    }

    fn text(&mut self, text: &str) {
        self.frames.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.frames.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
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
        assert_eq!(second.frame_start as usize, first.frame_end());
        let mut lines = Framer::default();
        assert_eq!(lines.push_line(7, b"{\"a\": 1}"), first);
        assert_eq!(lines.finish(), chunk[..first.frame_end()]);
        assert_eq!((first.numbered, second.numbered), (1, 1));
    }
}

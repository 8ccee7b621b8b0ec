//! Server-sent event framing.
//!
//! Small events are copied into one buffer, one after the other. A large event is not copied: its frame
//! consists of a head in the buffer, the log's own memory, and two line feeds.

use std::fmt::Display;
use std::sync::Arc;

use acp_instances::{ChangeKind, Event, EventKind, InstanceChange, ServerId, events};
use bytes::{Bytes, BytesMut};
use event_log::{Form, Gap, MemoryAccount, Run, charged};

use crate::wire::{ExitReport, failed_to_json};

/// The approximate size of a frame without its payload.
const OVERHEAD: usize = 64;
/// Events of at least this size are sent from the log's memory without copying.
const SHARED: usize = 16 << 10;
/// Smaller pieces are not charged: a connection holds few of them.
const UNCHARGED: usize = 1 << 10;
/// Runs with at least this many small events are framed once for all readers.
const KEPT: usize = 8;
/// The form under which a chunk stores its frames for other readers.
const FRAMES: Form = Form("acp-http-adapter/messages");

/// The frames for one reader.
#[derive(Debug)]
pub(crate) struct Frames {
    pieces: Vec<Bytes>,
    buffer: BytesMut,
    account: Arc<MemoryAccount>,
}

impl Frames {
    pub(crate) fn new(account: &Arc<MemoryAccount>) -> Self {
        Self { pieces: Vec::new(), buffer: BytesMut::new(), account: Arc::clone(account) }
    }

    /// The frames, in order.
    pub(crate) fn finish(mut self) -> Vec<Bytes> {
        self.flush();
        self.pieces
    }

    fn flush(&mut self) {
        if !self.buffer.is_empty() {
            let piece = self.buffer.split().freeze();
            let is_small = piece.len() < UNCHARGED;
            self.pieces.push(if is_small { piece } else { charged(piece, &self.account) });
        }
    }

    /// Adds events in the format of `GET /v1/acp/{server_id}`.
    pub(crate) fn messages(&mut self, run: &Run) {
        let are_small = run.longest() < SHARED;
        if run.len() >= KEPT && are_small {
            let frame = || {
                let mut buffer = BytesMut::with_capacity(run.bytes() + run.len() * OVERHEAD);
                frame_flood(&mut buffer, run);
                buffer.freeze()
            };
            if let Some(frames) = run.derived(FRAMES, &self.account, frame) {
                self.flush();
                self.pieces.push(frames);
                return;
            }
        }
        self.buffer.reserve(if are_small { run.bytes() + run.len() * OVERHEAD } else { 0 });
        for (index, event) in events(run).enumerate() {
            message_head(&mut self.buffer, &event);
            self.payload_of(run, index, &event);
        }
    }

    /// Adds events in the format of `?view=journal`. A comment line contains the data that have no field of their own:
    /// when the event happened and, for numbered events, the number that `answered` and `gap` refer to.
    pub(crate) fn journal(&mut self, run: &Run) {
        for (index, event) in events(run).enumerate() {
            text(&mut self.buffer, ": at ");
            number(&mut self.buffer, event.at_ms());
            if let Some(sequence) = event.sequence() {
                text(&mut self.buffer, " event ");
                number(&mut self.buffer, sequence);
            }
            text(&mut self.buffer, "\n");
            head(&mut self.buffer, name(event.kind()), Some(Id::Journal(event.position())));
            self.payload_of(run, index, &event);
        }
    }

    /// Adds events in the format of the stream of several instances: each payload is wrapped with the
    /// instance's id.
    pub(crate) fn wrapped(&mut self, server_id: &ServerId, run: &Run) {
        for (index, event) in events(run).enumerate() {
            head(&mut self.buffer, name(event.kind()), Some(Id::Journal(event.position())));
            self.wrapper(server_id, event.sequence());
            text(&mut self.buffer, r#""atMs":"#);
            number(&mut self.buffer, event.at_ms());
            text(&mut self.buffer, r#","data":"#);
            self.data_of(run, index, &event);
            text(&mut self.buffer, "}\n\n");
        }
    }

    /// Writes `{"serverId":"...","event":N,`. A server id needs no escaping.
    fn wrapper(&mut self, server_id: &ServerId, sequence: Option<u64>) {
        text(&mut self.buffer, r#"{"serverId":""#);
        text(&mut self.buffer, server_id.as_str());
        text(&mut self.buffer, r#"","#);
        if let Some(sequence) = sequence {
            text(&mut self.buffer, r#""event":"#);
            number(&mut self.buffer, sequence);
            text(&mut self.buffer, ",");
        }
    }

    fn payload_of(&mut self, run: &Run, index: usize, event: &Event<'_>) {
        self.data_of(run, index, event);
        text(&mut self.buffer, "\n\n");
    }

    fn data_of(&mut self, run: &Run, index: usize, event: &Event<'_>) {
        if event.bytes().len() < SHARED || !is_verbatim(event.kind()) {
            return data(&mut self.buffer, event);
        }
        self.flush();
        self.pieces.push(run.share(index));
    }

    /// Adds a retained request to the stream of one instance. On a journal, its number must not be sent as a
    /// cursor.
    pub(crate) fn retained(&mut self, sequence: Option<u64>, request: &Bytes) {
        head(&mut self.buffer, "message", sequence.map(Id::Sequence));
        self.shared(request);
        text(&mut self.buffer, "\n\n");
    }

    /// Adds a retained request to the stream of several instances.
    pub(crate) fn wrapped_retained(&mut self, server_id: &ServerId, sequence: u64, request: &Bytes) {
        head(&mut self.buffer, "message", None);
        self.wrapper(server_id, Some(sequence));
        text(&mut self.buffer, r#""data":"#);
        self.shared(request);
        text(&mut self.buffer, "}\n\n");
    }

    fn shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARED {
            return self.buffer.extend_from_slice(bytes);
        }
        self.flush();
        self.pieces.push(bytes.clone());
    }

    /// Adds a gap in sequence numbers.
    pub(crate) fn message_gap(&mut self, gap: &Gap) {
        let Gap { after_sequence, next_sequence, .. } = gap;
        self.plain("gap", format_args!(r#"{{"after":{after_sequence},"next":{next_sequence}}}"#));
    }

    /// Adds a gap in positions, of one instance or of the whole server.
    pub(crate) fn journal_gap(&mut self, server_id: Option<&ServerId>, gap: &Gap) {
        let Gap { after_order, next_order, .. } = gap;
        match server_id {
            None => self.plain("gap", format_args!(r#"{{"after":{after_order},"next":{next_order}}}"#)),
            Some(id) => self.plain(
                "gap",
                format_args!(r#"{{"serverId":"{id}","after":{after_order},"next":{next_order}}}"#),
            ),
        }
    }

    /// Adds the opening or closing of an instance.
    pub(crate) fn change(&mut self, change: &InstanceChange) {
        let name = match change.kind {
            ChangeKind::Opened => "opened",
            ChangeKind::Closed => "closed",
        };
        head(&mut self.buffer, name, Some(Id::Journal(change.position)));
        let data = serde_json::json!({"serverId": change.server_id.as_str(), "agent": change.agent});
        text(&mut self.buffer, &data.to_string());
        text(&mut self.buffer, "\n\n");
    }

    /// Adds an event that is not in a log.
    pub(crate) fn plain(&mut self, name: &str, data: impl Display) {
        head(&mut self.buffer, name, None);
        text(&mut self.buffer, &data.to_string());
        text(&mut self.buffer, "\n\n");
    }
}

#[derive(Clone, Copy)]
enum Id {
    Sequence(u64),
    Journal(u64),
}

/// The names of the stream's `event:` field.
const fn name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Message(_) => "message",
        EventKind::Sent(_) => "sent",
        EventKind::Unparsed => "unparsed",
        EventKind::Answered => "answered",
        EventKind::Failed => "failed",
        EventKind::Exit => "exit",
        EventKind::JournalSuspended => "journal_suspended",
        EventKind::JournalResumed => "journal_resumed",
    }
}

/// True when clients receive the event's bytes as the log holds them.
const fn is_verbatim(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Failed | EventKind::Exit)
}

/// Frames many small events in as few steps as possible: the number in the head is incremented in place.
fn frame_flood(buffer: &mut BytesMut, run: &Run) {
    let mut head = CountingHead::default();
    for event in events(run) {
        match (event.kind(), event.sequence()) {
            (EventKind::Message(_), Some(sequence)) => {
                buffer.extend_from_slice(head.numbered(sequence));
                buffer.extend_from_slice(event.bytes());
                text(buffer, "\n\n");
            }
            _ => {
                message_head(buffer, &event);
                data(buffer, &event);
                text(buffer, "\n\n");
            }
        }
    }
}

/// The head `event: message`, `id: N`, `data: ` of a message event.
#[derive(Debug, Default)]
struct CountingHead {
    head: Vec<u8>,
    sequence: u64,
    /// The position of the last digit of the number.
    last_digit: usize,
}

impl CountingHead {
    fn numbered(&mut self, sequence: u64) -> &[u8] {
        if sequence != self.sequence + 1 || !self.count_up() {
            self.head.clear();
            self.head.extend_from_slice(b"event: message\nid: ");
            self.head.extend_from_slice(itoa::Buffer::new().format(sequence).as_bytes());
            self.last_digit = self.head.len() - 1;
            self.head.extend_from_slice(b"\ndata: ");
        }
        self.sequence = sequence;
        &self.head
    }

    /// Increments the number. False if there is no number, or if it would need another digit.
    fn count_up(&mut self) -> bool {
        for digit in self.head.iter_mut().take(self.last_digit + 1).rev() {
            match digit {
                b'0'..=b'8' => {
                    *digit += 1;
                    return true;
                }
                b'9' => *digit = b'0',
                _ => return false,
            }
        }
        false
    }
}

fn message_head(buffer: &mut BytesMut, event: &Event<'_>) {
    match (event.kind(), event.sequence()) {
        // The most common kind of event, in as few steps as possible.
        (EventKind::Message(_), Some(sequence)) => {
            text(buffer, "event: message\nid: ");
            number(buffer, sequence);
            text(buffer, "\ndata: ");
        }
        (kind, sequence) => head(buffer, name(kind), sequence.map(Id::Sequence)),
    }
}

fn data(buffer: &mut BytesMut, event: &Event<'_>) {
    match event.kind() {
        EventKind::Failed => {
            text(buffer, &event.failure().as_ref().map(failed_to_json).unwrap_or_default());
        }
        EventKind::Exit => {
            let report = event.exit().as_ref().map(ExitReport::new);
            text(buffer, &report.map(|report| report.to_json()).unwrap_or_default());
        }
        _ => buffer.extend_from_slice(event.bytes()),
    }
}

fn head(buffer: &mut BytesMut, name: &str, id: Option<Id>) {
    text(buffer, "event: ");
    text(buffer, name);
    match id {
        Some(Id::Sequence(sequence)) => {
            text(buffer, "\nid: ");
            number(buffer, sequence);
        }
        Some(Id::Journal(position)) => {
            text(buffer, "\nid: j");
            number(buffer, position);
        }
        None => {}
    }
    text(buffer, "\ndata: ");
}

fn text(buffer: &mut BytesMut, text: &str) {
    buffer.extend_from_slice(text.as_bytes());
}

fn number(buffer: &mut BytesMut, number: u64) {
    buffer.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use acp_instances::MessageKind;
    use event_log::{Log, OrderCounter, Read, Reader, Retention};

    use super::*;

    const NOTIFICATION: EventKind = EventKind::Message(MessageKind::Notification);

    fn run(records: &[(EventKind, &[u8])]) -> (Run, Arc<MemoryAccount>) {
        let account = MemoryAccount::new(1 << 30);
        let retention = Retention { max_bytes: 1 << 30, max_records: 1000 };
        let mut log = Log::new(7, Arc::new(OrderCounter::starting_at(40)), Arc::clone(&account), retention);
        let mut batch = log.batch(0, records.len());
        for (kind, bytes) in records {
            batch.push(kind.info(), bytes);
        }
        log.append(batch, 5, |_| {});
        match Reader::at_oldest(&[&log]).read(&[&log], u64::MAX) {
            Read::Run(run) => (run, account),
            other => panic!("{other:?}"),
        }
    }

    fn framed(records: &[(EventKind, &[u8])], frame: impl Fn(&mut Frames, &Run)) -> String {
        let (run, account) = run(records);
        let mut frames = Frames::new(&account);
        frame(&mut frames, &run);
        String::from_utf8(frames.finish().concat()).unwrap()
    }

    #[test]
    fn a_frame_is_event_id_data_and_an_empty_line() {
        let records: [(EventKind, &[u8]); 3] =
            [(NOTIFICATION, b"{\"a\":1}"), (EventKind::Unparsed, b"{}"), (NOTIFICATION, b"{}")];
        let messages = framed(&records, Frames::messages);
        let expected = "event: message\nid: 7\ndata: {\"a\":1}\n\nevent: unparsed\ndata: {}\n\nevent: message\nid: 8\ndata: {}\n\n";
        assert_eq!(messages, expected);
        let journal = framed(&records[..2], Frames::journal);
        let expected = ": at 5 event 7\nevent: message\nid: j40\ndata: {\"a\":1}\n\n: at 5\nevent: unparsed\nid: j41\ndata: {}\n\n";
        assert_eq!(journal, expected);
        let id = ServerId::parse("x").unwrap();
        let wrapped = framed(&records[..2], |frames, run| frames.wrapped(&id, run));
        let expected = "event: message\nid: j40\ndata: {\"serverId\":\"x\",\"event\":7,\"atMs\":5,\"data\":{\"a\":1}}\n\n\
                        event: unparsed\nid: j41\ndata: {\"serverId\":\"x\",\"atMs\":5,\"data\":{}}\n\n";
        assert_eq!(wrapped, expected);
    }

    #[test]
    fn large_events_are_shared_and_floods_are_framed_once_with_the_same_bytes() {
        let large = vec![b'x'; SHARED];
        let small: Vec<(EventKind, &[u8])> = vec![(NOTIFICATION, b"{}"); KEPT];
        let mixed = [small.clone(), vec![(NOTIFICATION, &large)], small.clone()].concat();
        for records in [small, mixed] {
            let plain: String = (7..)
                .zip(&records)
                .map(|(number, (_, bytes))| {
                    format!("event: message\nid: {number}\ndata: {}\n\n", String::from_utf8_lossy(bytes))
                })
                .collect();
            let (run, account) = run(&records);
            for _ in 0..3 {
                let mut frames = Frames::new(&account);
                frames.messages(&run);
                assert_eq!(String::from_utf8(frames.finish().concat()).unwrap(), plain);
            }
        }
    }

    #[test]
    fn numbers_are_counted_up_over_every_carry() {
        let mut head = CountingHead::default();
        for sequence in [1, 2, 8, 9, 10, 11, 99, 100, 101, 999, 1000, 5, 6].into_iter().chain(90..1110) {
            let expected = format!("event: message\nid: {sequence}\ndata: ");
            assert_eq!(head.numbered(sequence), expected.as_bytes());
        }
    }

    #[test]
    fn gaps_say_between_which_numbers() {
        let gap = Gap { after_sequence: 1, next_sequence: 2, after_order: 3, next_order: 4 };
        let id = ServerId::parse("x").unwrap();
        let mut frames = Frames::new(&MemoryAccount::new(0));
        frames.message_gap(&gap);
        frames.journal_gap(None, &gap);
        frames.journal_gap(Some(&id), &gap);
        let expected = "event: gap\ndata: {\"after\":1,\"next\":2}\n\nevent: gap\ndata: {\"after\":3,\"next\":4}\n\n\
                        event: gap\ndata: {\"serverId\":\"x\",\"after\":3,\"next\":4}\n\n";
        assert_eq!(frames.finish().concat(), expected.as_bytes());
    }
}

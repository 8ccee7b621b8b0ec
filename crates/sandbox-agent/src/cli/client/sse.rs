//! A parser for server-sent events. The bytes may arrive in chunks of any size.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Event {
    /// The kind of event.
    pub(in crate::cli) name: String,
    /// The position in the stream. A client that reconnects sends the last one it received.
    pub(in crate::cli) id: Option<String>,
    /// The payload.
    pub(in crate::cli) data: String,
    /// The comment before the event, such as the time in a journal.
    pub(in crate::cli) comment: Option<String>,
}

/// Turns bytes into events.
#[derive(Debug, Default)]
pub(super) struct Parser {
    unread: Vec<u8>,
    /// How many bytes of `unread` are known to contain no line break.
    searched: usize,
    event: Event,
}

impl Parser {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next event, if it is complete.
    pub(super) fn next(&mut self) -> Option<Event> {
        let mut start = 0;
        let found = loop {
            let rest = &self.unread[start..];
            let skip = if start == 0 { self.searched } else { 0 };
            let Some(length) = rest[skip..].iter().position(|byte| *byte == b'\n').map(|end| skip + end)
            else {
                self.searched = rest.len();
                break None;
            };
            let line = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
            start += length + 1;
            if !line.is_empty() {
                apply_line(&mut self.event, &String::from_utf8_lossy(line));
            } else if self.event.name.is_empty() && self.event.data.is_empty() {
                // A comment without an event, such as a heartbeat.
                self.event = Event::default();
            } else {
                self.searched = 0;
                break Some(std::mem::take(&mut self.event));
            }
        };
        self.unread.drain(..start);
        found
    }
}

fn apply_line(event: &mut Event, line: &str) {
    let (field, value) = line.split_once(':').unwrap_or((line, ""));
    let value = value.strip_prefix(' ').unwrap_or(value);
    match field {
        "" => event.comment = Some(value.to_owned()),
        "event" => value.clone_into(&mut event.name),
        "id" => event.id = Some(value.to_owned()),
        "data" => {
            if !event.data.is_empty() {
                event.data.push('\n');
            }
            event.data.push_str(value);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": connected\n\nevent: message\nid: 7\ndata: {\"a\":1}\n\n: heartbeat\n\n\
        : at 5 event 8\nevent: gap\ndata: x\ndata: y\n\nevent: cut";

    #[test]
    fn events_do_not_depend_on_the_size_of_the_chunks() {
        let read = |size: usize| {
            let mut parser = Parser::default();
            let mut events = Vec::new();
            for bytes in STREAM.as_bytes().chunks(size) {
                parser.push(bytes);
                events.extend(std::iter::from_fn(|| parser.next()));
            }
            events
        };
        let whole = read(STREAM.len());
        assert_eq!(whole.len(), 2);
        let Event { name, id, data, comment } = &whole[0];
        assert_eq!((name.as_str(), id.as_deref(), data.as_str()), ("message", Some("7"), "{\"a\":1}"));
        assert_eq!(*comment, None);
        assert_eq!((whole[1].data.as_str(), whole[1].comment.as_deref()), ("x\ny", Some("at 5 event 8")));
        for size in 1..STREAM.len() {
            assert_eq!(read(size), whole, "in chunks of {size}");
        }
    }
}

//! Server-sent events out of bytes, however the bytes are cut.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Event {
    /// What kind it is.
    pub(in crate::cli) name: String,
    /// Where it stands in the stream; a reader that comes back says the last one it has.
    pub(in crate::cli) id: Option<String>,
    /// What it carries.
    pub(in crate::cli) data: String,
    /// A remark before it, such as the time in a journal.
    pub(in crate::cli) comment: Option<String>,
}

/// Takes bytes, gives events.
#[derive(Debug, Default)]
pub(super) struct Parser {
    unread: Vec<u8>,
    /// How much of `unread` has no line break in it.
    searched: usize,
    event: Event,
}

impl Parser {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next event, if all of it is there.
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
                take(&mut self.event, &String::from_utf8_lossy(line));
            } else if self.event.name.is_empty() && self.event.data.is_empty() {
                // A remark alone, such as a heartbeat.
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

fn take(event: &mut Event, line: &str) {
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
    fn events_are_the_same_however_the_bytes_are_cut() {
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
            assert_eq!(read(size), whole, "in pieces of {size}");
        }
    }
}

//! Reads server-sent events, each with a deadline.

use std::collections::VecDeque;
use std::io::BufReader;
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use serde_json::Value;

use super::SOON;
use super::http::{Headers, Response, read_chunk, read_head};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub id: Option<String>,
    pub data: String,
    /// The comment lines before its fields.
    pub comments: Vec<String>,
}

impl Event {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {}", self.data))
    }

    /// The sequence number.
    #[track_caller]
    pub fn number(&self) -> u64 {
        let id = self.id.as_deref().unwrap_or_else(|| panic!("{self:?} has no id"));
        id.parse().unwrap_or_else(|_| panic!("`{id}` is not a number"))
    }

    /// True if the event is a message with this method.
    pub fn is_call_of(&self, method: &str) -> bool {
        self.name == "message" && self.json()["method"] == method
    }

    /// True if the event is a response with this id.
    pub fn answers(&self, id: &Value) -> bool {
        self.name == "message" && {
            let message = self.json();
            message["method"].is_null() && message["id"] == *id
        }
    }
}

/// A connection that receives events.
#[derive(Debug)]
pub struct Stream {
    connection: BufReader<TcpStream>,
    pub headers: Headers,
    unread: Vec<u8>,
    /// How much of `unread` is known to contain no blank line.
    searched: usize,
    ready: VecDeque<Event>,
    comments: Vec<String>,
    ended: bool,
}

impl Stream {
    /// Reads the head, which must be that of an event stream.
    #[track_caller]
    pub fn open(connection: TcpStream) -> Self {
        let mut connection = BufReader::new(connection);
        let (status, headers) = read_head(&mut connection);
        if status != 200 {
            let mut body = Vec::new();
            if let Some(length) = headers.get("content-length").and_then(|text| text.parse().ok()) {
                body.resize(length, 0);
                let _ = std::io::Read::read_exact(&mut connection, &mut body);
            }
            panic!("a stream was expected, not {:?}", Response { status, headers, body });
        }
        assert_eq!(headers.get("content-type"), Some("text/event-stream"));
        let (unread, ready, comments) = (Vec::new(), VecDeque::new(), Vec::new());
        Self { connection, headers, unread, searched: 0, ready, comments, ended: false }
    }

    /// The next event; fails the test if none arrives.
    #[track_caller]
    pub fn next(&mut self) -> Event {
        self.next_or_end().expect("another event was expected, but the stream ended")
    }

    /// The next event; `None` if the stream has ended.
    #[track_caller]
    pub fn next_or_end(&mut self) -> Option<Event> {
        let deadline = Instant::now() + SOON;
        while self.ready.is_empty() && !self.ended {
            assert!(self.pull(deadline), "no event came within {SOON:?}");
        }
        self.ready.pop_front()
    }

    /// Skips to the first event that matches, and returns it.
    #[track_caller]
    pub fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.next();
            if wanted(&event) {
                return event;
            }
        }
    }

    /// All events up to and including the first that matches.
    #[track_caller]
    pub fn up_to(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            events.push(self.next());
            if events.last().is_some_and(&wanted) {
                return events;
            }
        }
    }

    /// All events until the server ends the stream.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next_or_end()).collect()
    }

    /// Waits for a comment without an event, such as a heartbeat.
    #[track_caller]
    pub fn comment(&mut self) -> String {
        let deadline = Instant::now() + SOON;
        while self.comments.is_empty() {
            assert!(self.pull(deadline) && !self.ended, "no comment came within {SOON:?}");
        }
        self.comments.remove(0)
    }

    /// Closes the connection without notice to the server.
    pub fn cut(self) {
        let _ = self.connection.get_ref().shutdown(Shutdown::Both);
    }

    /// Reads one chunk; false if the deadline passes first.
    fn pull(&mut self, deadline: Instant) -> bool {
        let wait = deadline.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return false;
        }
        // Only waiting for the first byte may time out, so that a deadline never splits a chunk.
        if self.connection.buffer().is_empty() {
            self.connection.get_ref().set_read_timeout(Some(wait)).expect("a timeout can be set");
            match std::io::BufRead::fill_buf(&mut self.connection) {
                Ok([]) => {
                    self.ended = true;
                    return true;
                }
                Ok(_) => {}
                Err(error) if matches!(error.kind(), std::io::ErrorKind::ConnectionReset) => {
                    self.ended = true;
                    return true;
                }
                Err(_) => return false,
            }
            self.connection.get_ref().set_read_timeout(Some(SOON)).expect("a timeout can be set");
        }
        if !read_chunk(&mut self.connection, &mut self.unread) {
            self.ended = true;
        }
        self.parse();
        true
    }

    fn parse(&mut self) {
        // A blank line ends an event. No other byte sequence may end one, whatever the agent sends.
        let mut start = 0;
        while let Some(found) = memchr::memmem::find(&self.unread[start.max(self.searched)..], b"\n\n") {
            let end = start.max(self.searched) + found;
            let block = &self.unread[start..end];
            assert!(memchr::memchr(b'\r', block).is_none(), "a raw CR would end a line of the stream");
            let block = std::str::from_utf8(block).expect("a stream is UTF-8").to_owned();
            (start, self.searched) = (end + 2, 0);
            self.take_block(&block);
        }
        self.unread.drain(..start);
        self.searched = self.unread.len().saturating_sub(1);
    }

    fn take_block(&mut self, block: &str) {
        let mut event = Event { name: String::new(), id: None, data: String::new(), comments: Vec::new() };
        for line in block.split('\n') {
            match line.split_once(':') {
                Some(("", comment)) => event.comments.push(comment.trim().to_owned()),
                Some(("event", name)) => event.name = name.trim().to_owned(),
                Some(("id", id)) => event.id = Some(id.trim().to_owned()),
                Some(("data", data)) => event.data.push_str(data.strip_prefix(' ').unwrap_or(data)),
                _ => panic!("`{line}` is not a line of a stream"),
            }
        }
        if event.name.is_empty() {
            self.comments.append(&mut event.comments);
        } else {
            self.ready.push_back(event);
        }
    }
}

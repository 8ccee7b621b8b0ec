//! Reads server-sent events from a connection that may be cut at any moment.

use std::collections::VecDeque;
use std::io::{BufReader, Result};
use std::net::TcpStream;

use crate::order::Event;
use crate::wire::{Answer, Ask, Head, read_chunk};

/// An open stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    connection: BufReader<TcpStream>,
    unread: Vec<u8>,
    /// How much of `unread` is known to contain no blank line.
    searched: usize,
    ready: VecDeque<Event>,
    is_over: bool,
}

/// The server's answer to a GET.
#[derive(Debug)]
pub(crate) enum Opened {
    Stream(Box<EventStream>),
    Refused(Answer),
}

impl EventStream {
    pub(crate) fn open(ask: &Ask, port: u16) -> Result<Opened> {
        let mut connection = BufReader::new(ask.write(port)?);
        let head = Head::read(&mut connection)?;
        if head.status != 200 {
            let body = head.read_body(&mut connection)?;
            return Ok(Opened::Refused(Answer { head, body }));
        }
        let (unread, ready) = (Vec::new(), VecDeque::new());
        Ok(Opened::Stream(Box::new(Self { connection, unread, searched: 0, ready, is_over: false })))
    }

    /// The connection, so that another task can cut it.
    pub(crate) fn connection(&self) -> &TcpStream {
        self.connection.get_ref()
    }

    /// The next event; `None` if the server has ended the stream.
    pub(crate) fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            // A heartbeat comes every 15 seconds, so that waiting for a chunk has a limit.
            self.is_over = !read_chunk(&mut self.connection, &mut self.unread)?;
            self.parse();
        }
    }

    fn parse(&mut self) {
        let mut start = 0;
        while let Some(found) = memchr::memmem::find(&self.unread[start.max(self.searched)..], b"\n\n") {
            let end = start.max(self.searched) + found;
            let event = event_of(&self.unread[start..end]);
            self.ready.extend((!event.name.is_empty()).then_some(event));
            (start, self.searched) = (end + 2, 0);
        }
        self.unread.drain(..start);
        self.searched = self.unread.len().saturating_sub(1);
    }
}

fn event_of(block: &[u8]) -> Event {
    let mut event = Event::default();
    for line in block.split(|byte| *byte == b'\n') {
        let text = |from: usize| String::from_utf8_lossy(&line[from..]).trim().to_owned();
        if line.starts_with(b":") {
            event.comment = text(1);
        } else if line.starts_with(b"event:") {
            event.name = text(6);
        } else if line.starts_with(b"id:") {
            event.id = Some(text(3));
        } else if let Some(data) = line.strip_prefix(b"data: ") {
            event.data.extend_from_slice(data);
        }
    }
    event
}

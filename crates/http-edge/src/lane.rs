//! A lane of its own for the one kind of request that comes thousands of times a second.
//!
//! A small POST to an agent that is there costs less to answer than hyper and the router take to bring it to its handler
//! and the answer back: maps for both heads, boxes for bodies and futures, a state machine for all that HTTP can be. So
//! a connection begins here. A request that is whole, small and plain is answered in place, and where its head is the
//! one before but for the length of its body, as heads of one client are, the head is not even read. At the first
//! request that is anything else the connection goes to hyper, with what was read of it, and stays there. So nothing is
//! ever refused here, and no rule of HTTP is known here that hyper does not know better.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::response::IntoResponse;
use bytes::{Buf, Bytes};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode, header};
use measures::Counter;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::Problem;
use crate::answer_body::AnswerBody;
use crate::answer_head;
use crate::connection_timer::ConnectionTimer;
use crate::counted::Counted;
use crate::drain::Ticket;
use crate::edge::{Caller, Edge};
use crate::plain_head::{Found, HeadText, PlainHead};
use crate::request_id::NewId;

/// What one read takes at the most. It is on the stack: a connection at rest holds no memory for it.
const READ: usize = 8 << 10;
/// What is held of requests that are not whole, or not due.
const HELD: usize = 16 << 10;
/// Answers up to this size are copied behind their heads and sent in one piece.
const COPIED: usize = 2 << 10;

/// Answers plain requests.
pub trait Lane: std::fmt::Debug + Send + Sync + 'static {
    /// What is known of a request by its head.
    type Known: Send + Sync + 'static;
    /// An answer on its way.
    type Answer: Future<Output = LaneAnswer> + Unpin + Send + 'static;

    /// Reads the head of a POST, in which the length of its body is left out. `None` sends the connection to the router.
    fn know(&self, head: &Parts) -> Option<Self::Known>;

    /// Answers a request. The body is not empty.
    fn answer(&self, known: &Self::Known, body: &[u8]) -> Self::Answer;
}

/// What is answered.
#[derive(Debug)]
pub enum LaneAnswer {
    /// 200 with JSON.
    Json(Bytes),
    /// Anything else that is whole.
    Other(Response<Bytes>),
    /// A problem.
    Problem(Problem),
}

/// No lane: every connection goes to the router.
#[derive(Debug, Clone, Copy)]
pub struct RouterOnly;

impl Lane for RouterOnly {
    type Known = std::convert::Infallible;
    type Answer = std::future::Pending<LaneAnswer>;

    fn know(&self, _head: &Parts) -> Option<Self::Known> {
        None
    }

    fn answer(&self, known: &Self::Known, _body: &[u8]) -> Self::Answer {
        match *known {}
    }
}

/// How a connection leaves the lane.
#[derive(Debug)]
pub(crate) enum Parting {
    /// It is over.
    Over,
    /// It goes on elsewhere, with this read of it already.
    Unusual(Vec<u8>),
}

/// A connection in the lane.
pub(crate) struct Conversation<'a, L: Lane> {
    stream: &'a mut Counted,
    edge: &'a Edge<L>,
    ticket: &'a mut Ticket,
    timer: &'a ConnectionTimer,
    /// What was read and is not used: the beginning of a request, or more than one.
    held: Vec<u8>,
    last: Option<Last<L::Known>>,
    /// What is being written; kept for its memory.
    output: Vec<u8>,
}

/// The head of the last request, and everything that follows from it.
struct Last<K> {
    text: HeadText,
    caller: Caller,
    known: K,
    /// What an answer's head says besides, as it is sent.
    decoration: Vec<u8>,
}

/// What came of looking at some bytes.
enum Look<A> {
    /// A request begins, but is not whole.
    More,
    /// It is being answered; so many bytes of it are used.
    Begun(A, usize),
    /// Nothing for the lane.
    Unusual,
}

/// What came of waiting for a request.
enum Turn<A> {
    Begun(A, Instant),
    Leave(Parting),
}

/// A request on its way. Dropped before its time when the client leaves.
struct Unanswered<'a>(&'a Counter);

impl Unanswered<'_> {
    fn over(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.increment();
    }
}

impl<'a, L: Lane> Conversation<'a, L> {
    pub(crate) fn new(
        stream: &'a mut Counted,
        edge: &'a Edge<L>,
        ticket: &'a mut Ticket,
        timer: &'a ConnectionTimer,
    ) -> Self {
        Self { stream, edge, ticket, timer, held: Vec::new(), last: None, output: Vec::new() }
    }

    /// Answers until the connection is over or leaves.
    pub(crate) async fn hold(mut self) -> io::Result<Parting> {
        loop {
            let mut pause = self.timer.pause();
            let turn = poll_fn(|context| {
                let is_late = Pin::new(&mut pause).poll(context).is_ready();
                self.poll_turn(context, is_late)
            });
            let (mut answer, started) = match turn.await? {
                Turn::Begun(answer, started) => (answer, started),
                Turn::Leave(parting) => return Ok(parting),
            };
            drop(pause);
            let unanswered = Unanswered(&self.edge.measures.abandoned);
            let answered = poll_fn(|context| match Pin::new(&mut answer).poll(context) {
                Poll::Ready(answer) => Poll::Ready(Some(answer)),
                Poll::Pending => self.poll_presence(context).map(|()| None),
            });
            let Some(answer) = answered.await else { return Ok(Parting::Over) };
            unanswered.over();
            let is_last = poll_fn(|context| Poll::Ready(self.ticket.is_told(context))).await;
            let rest = self.write_down(answer, started, is_last);
            self.send(rest).await?;
            if is_last {
                self.stream.shutdown().await?;
                return Ok(Parting::Over);
            }
        }
    }

    /// Waits for a request and begins to answer it.
    fn poll_turn(&mut self, context: &mut Context<'_>, is_late: bool) -> Poll<io::Result<Turn<L::Answer>>> {
        if self.ticket.is_told(context) && self.held.is_empty() {
            return Poll::Ready(Ok(Turn::Leave(Parting::Over)));
        }
        if is_late {
            // The time is for heads. How long a body may take is not for the lane to judge.
            let has_head = !matches!(PlainHead::find(&self.held), Found::More);
            return Poll::Ready(Ok(Turn::Leave(if has_head { self.part() } else { Parting::Over })));
        }
        // More than one request came at once.
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            if let Some(turn) = self.take(&held) {
                return Poll::Ready(Ok(turn));
            }
        }
        loop {
            let mut room = [const { MaybeUninit::uninit() }; READ];
            let mut buffer = ReadBuf::uninit(&mut room);
            ready!(Pin::new(&mut *self.stream).poll_read(context, &mut buffer))?;
            let read = buffer.filled();
            if read.is_empty() {
                return Poll::Ready(Ok(Turn::Leave(self.part())));
            }
            let turn = if self.held.is_empty() {
                self.take(read)
            } else {
                let mut held = std::mem::take(&mut self.held);
                held.extend_from_slice(read);
                self.take(&held)
            };
            if let Some(turn) = turn {
                return Poll::Ready(Ok(turn));
            }
        }
    }

    /// Leaves with nothing, or with the beginning of a request.
    fn part(&mut self) -> Parting {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() { Parting::Over } else { Parting::Unusual(held) }
    }

    /// Takes what was read, and holds what of it is not used.
    fn take(&mut self, bytes: &[u8]) -> Option<Turn<L::Answer>> {
        let started = Instant::now();
        match self.look(bytes) {
            Look::Begun(answer, used) => {
                self.held.extend_from_slice(&bytes[used..]);
                Some(Turn::Begun(answer, started))
            }
            Look::More if bytes.len() <= HELD => {
                self.held.extend_from_slice(bytes);
                None
            }
            Look::More | Look::Unusual => Some(Turn::Leave(Parting::Unusual(bytes.to_vec()))),
        }
    }

    fn look(&mut self, bytes: &[u8]) -> Look<L::Answer> {
        let familiar = self.last.as_ref().and_then(|last| last.text.find(bytes));
        let (head_length, body_length) = match familiar {
            Some(lengths) => lengths,
            None => match PlainHead::find(bytes) {
                Found::More => return Look::More,
                Found::Unusual => return Look::Unusual,
                Found::Head(head) => {
                    let lengths = (head.text.len(), head.body_length);
                    if !self.learn(*head) {
                        return Look::Unusual;
                    }
                    lengths
                }
            },
        };
        let (Some(last), Some(end)) = (&self.last, head_length.checked_add(body_length)) else {
            return Look::Unusual;
        };
        if end > HELD {
            return Look::Unusual;
        }
        match bytes.get(head_length..end) {
            Some(body) => Look::Begun(self.edge.lane.answer(&last.known, body), end),
            None => Look::More,
        }
    }

    /// Whether the head is one for this lane; then it is remembered.
    fn learn(&mut self, head: PlainHead) -> bool {
        let PlainHead { parts, text, .. } = head;
        if self.edge.exposure.admit(&parts).is_err() {
            return false;
        }
        let Some(known) = self.edge.lane.know(&parts) else { return false };
        let caller = self.edge.caller(&parts);
        let mut headers = HeaderMap::new();
        self.edge.exposure.decorate(caller.origin.as_ref(), &mut headers);
        let mut decoration = Vec::new();
        answer_head::write_headers(&mut decoration, &headers);
        self.last = Some(Last { text, caller, known, decoration });
        true
    }

    /// Ready when the client has left. Whoever has sent more has not, as far as is looked: those requests come next.
    fn poll_presence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.held.is_empty() {
            let mut room = [const { MaybeUninit::uninit() }; READ];
            let mut buffer = ReadBuf::uninit(&mut room);
            match ready!(Pin::new(&mut *self.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => self.held.extend_from_slice(buffer.filled()),
                Ok(()) | Err(_) => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// Writes an answer down, and returns of its body what is too long for that.
    fn write_down(&mut self, answer: LaneAnswer, started: Instant, is_last: bool) -> Bytes {
        self.output.clear();
        let now = Instant::now();
        let body = match answer {
            LaneAnswer::Json(body) => self.write_json_head(body, now - started),
            LaneAnswer::Other(response) => self.write_head(response.map(AnswerBody::Whole), now - started),
            LaneAnswer::Problem(problem) => {
                self.write_head(problem.into_response().map(AnswerBody::Routed), now - started)
            }
        };
        answer_head::write_end(&mut self.output, body.len(), is_last, now);
        if body.len() > COPIED {
            return body;
        }
        self.output.extend_from_slice(&body);
        Bytes::new()
    }

    fn write_json_head(&mut self, body: Bytes, duration: Duration) -> Bytes {
        let Some(Last { caller, decoration, .. }) = &self.last else { return body };
        let given = caller.request_id.as_ref().and_then(|given| given.to_str().ok());
        let new = given.is_none().then(NewId::draw);
        let request_id = given.or(new.as_ref().map(NewId::as_str)).unwrap_or_default();
        self.edge.note(caller, request_id, duration, StatusCode::OK, None);
        let output = &mut self.output;
        output.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n");
        output.extend_from_slice(decoration);
        output.extend_from_slice(b"x-request-id: ");
        output.extend_from_slice(request_id.as_bytes());
        output.extend_from_slice(b"\r\n");
        body
    }

    fn write_head(&mut self, response: Response<AnswerBody>, duration: Duration) -> Bytes {
        let Some(Last { caller, .. }) = &self.last else { return Bytes::new() };
        let response = self.edge.conclude(caller, caller.name(), duration, response);
        let (mut parts, body) = response.into_parts();
        // It is written by whoever writes the end.
        parts.headers.remove(header::CONTENT_LENGTH);
        answer_head::write_status(&mut self.output, parts.status);
        answer_head::write_headers(&mut self.output, &parts.headers);
        match body {
            AnswerBody::Whole(body) => body,
            // A problem's body is always replaced by one that names the request.
            AnswerBody::Routed(_) => Bytes::new(),
        }
    }

    async fn send(&mut self, body: Bytes) -> io::Result<()> {
        let (stream, mut output) = (&mut *self.stream, &self.output[..]);
        if !body.is_empty() {
            return stream.write_all_buf(&mut output.chain(body)).await;
        }
        // Nearly always all of it goes at once.
        while !output.is_empty() {
            let count = poll_fn(|context| Pin::new(&mut *stream).poll_write(context, output)).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            output = &output[count..];
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;

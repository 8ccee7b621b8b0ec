//! Client messages on their way to an agent, and their outcomes.

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use event_log::Reservation;
use tokio::sync::oneshot;

use crate::caller::Caller;
use crate::envelope::{Envelope, EnvelopeError, flatten};
use crate::error::Error;
use crate::idempotency::IdempotencyKey;
use crate::launcher::BoxFuture;
use crate::request_id::RequestId;
use crate::server_id::ServerId;

/// One JSON-RPC message, on one line, with the memory that is reserved for it.
#[derive(Debug)]
pub struct Message {
    /// The message with its line feed.
    pub(crate) line: Bytes,
    pub(crate) envelope: Envelope,
    /// The byte range of the id.
    pub(crate) id_span: Option<Range<usize>>,
    pub(crate) memory: Reservation,
}

impl Message {
    /// Reads the envelope of a message. Line breaks between tokens become spaces; nothing else changes.
    ///
    /// # Errors
    /// [`EnvelopeError`] says why the bytes are not a message.
    pub fn parse(mut bytes: BytesMut, memory: Reservation) -> Result<Self, EnvelopeError> {
        let parsed = Envelope::parse_located(&bytes)?;
        flatten(&mut bytes);
        bytes.extend_from_slice(b"\n");
        Ok(Self { line: bytes.freeze(), envelope: parsed.envelope, id_span: parsed.id_span, memory })
    }

    /// The kind of the message and its id.
    #[must_use]
    pub const fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// True if the agent must answer the message.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        matches!(self.envelope, Envelope::Request(_))
    }

    /// The message, without its line feed.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.line[..self.line.len() - 1]
    }

    /// Gives the message another id. Only the bytes of the id are replaced.
    pub(crate) fn replace_id(&mut self, id: &RequestId) {
        let Some(span) = &self.id_span else { return };
        let text = id.as_json().as_bytes();
        let mut line = BytesMut::with_capacity(self.line.len() - span.len() + text.len());
        line.extend_from_slice(&self.line[..span.start]);
        line.extend_from_slice(text);
        line.extend_from_slice(&self.line[span.end..]);
        self.id_span = Some(span.start..span.start + text.len());
        self.line = line.freeze();
        self.envelope = Envelope::Request(id.clone());
    }
}

/// A message, where it goes, and how its answer is delivered.
#[derive(Debug)]
pub struct SendRequest {
    /// The instance that receives the message.
    pub server_id: ServerId,
    /// The agent to start if there is no such instance, or if its process has ended and the message is a
    /// request. If the instance exists, it must be bound to this agent.
    pub agent: Option<Box<str>>,
    /// The message.
    pub message: Message,
    /// Where the answer is delivered.
    pub delivery: Delivery,
    /// Makes repeated messages harmless: a second message with the same key is not forwarded and gets the
    /// first one's outcome.
    pub key: Option<IdempotencyKey>,
    /// The id that the agent sees.
    pub ids: IdPolicy,
    /// The client that sends the message.
    pub caller: Caller,
}

impl SendRequest {
    /// A request to an existing instance, whose sender waits for the answer.
    #[must_use]
    pub fn new(server_id: ServerId, message: Message) -> Self {
        Self {
            server_id,
            agent: None,
            message,
            delivery: Delivery::Wait,
            key: None,
            ids: IdPolicy::Keep,
            caller: Caller::default(),
        }
    }
}

/// Where a caller wants the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// In the receipt.
    Wait,
    /// Only in the log. A failure is reported there too.
    Log,
}

/// Which id the agent sees on a client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdPolicy {
    /// The client's own id.
    Keep,
    /// A free integer that the engine assigns under the instance's lock; see [`Receipt::assigned_id`].
    Assign,
}

/// What a sender receives for an accepted message. Dropping the receipt cancels nothing.
#[derive(Debug)]
pub struct Receipt {
    /// The message's place among the events of all instances. `None` for a repeated message, which has no
    /// event of its own.
    pub position: Option<u64>,
    /// The id that the agent sees, if the engine assigned it.
    pub assigned_id: Option<RequestId>,
    /// The future outcome of the message.
    pub outcome: Outcome,
}

/// The outcome of an accepted message that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The agent's response, in its own bytes.
    Response(Bytes),
    /// There is nothing to wait for: the message needs no answer, or the answer is in the log.
    Accepted,
}

/// The final outcome of an accepted message.
pub type Settled = Result<Answer, Error>;

/// A future that is ready when the outcome of the message is known. If it is dropped before that, a failure
/// of the request is reported in the log.
#[derive(Debug)]
pub struct Outcome(Pending);

#[derive(Debug)]
enum Pending {
    Settled(Option<Settled>),
    Waiting(oneshot::Receiver<Settled>),
}

impl Outcome {
    /// An outcome that is already known.
    #[must_use]
    pub const fn settled(settled: Settled) -> Self {
        Self(Pending::Settled(Some(settled)))
    }

    /// An outcome that arrives through a channel. Dropping the sender counts as a bug in the server.
    #[must_use]
    pub const fn waiting(receiver: oneshot::Receiver<Settled>) -> Self {
        Self(Pending::Waiting(receiver))
    }
}

impl Future for Outcome {
    type Output = Settled;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Settled> {
        let lost = || Err(Error::internal("the server lost track of this message"));
        match &mut self.0 {
            Pending::Settled(settled) => Poll::Ready(settled.take().unwrap_or_else(lost)),
            Pending::Waiting(receiver) => {
                Pin::new(receiver).poll(context).map(|settled| settled.unwrap_or_else(|_| lost()))
            }
        }
    }
}

/// The result of [`crate::Instances::send`]: available at once if possible, since most messages go to an
/// instance that has room for them.
pub enum Sending<'a> {
    /// The result is already known.
    Done(Option<Result<Receipt, Error>>),
    /// The result takes a while: an agent starts, or its queue is full.
    Waiting(BoxFuture<'a, Result<Receipt, Error>>),
}

impl Future for Sending<'_> {
    type Output = Result<Receipt, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Done(result) => Poll::Ready(
                result.take().unwrap_or_else(|| Err(Error::internal("a send was polled after it was done"))),
            ),
            Self::Waiting(sending) => sending.as_mut().poll(context),
        }
    }
}

impl std::fmt::Debug for Sending<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Done(_) => "Sending::Done",
            Self::Waiting(_) => "Sending::Waiting",
        })
    }
}

#[cfg(test)]
mod tests {
    use event_log::MemoryAccount;

    use super::*;

    fn message(json: &str) -> Message {
        Message::parse(BytesMut::from(json), Reservation::empty(&MemoryAccount::new(0))).unwrap()
    }

    #[test]
    fn a_message_becomes_one_line() {
        let message = message("{\"jsonrpc\":\"2.0\",\r\n\"method\":\"x\"}");
        assert_eq!(message.bytes(), b"{\"jsonrpc\":\"2.0\",  \"method\":\"x\"}");
    }

    #[test]
    fn replacing_an_id_touches_no_other_byte() {
        let mut message = message(r#"{"id": "x\u0041" ,"jsonrpc":"2.0","method":"m","params":{"id":"x"}}"#);
        message.replace_id(&RequestId::parse("17").unwrap());
        assert_eq!(message.bytes(), br#"{"id": 17 ,"jsonrpc":"2.0","method":"m","params":{"id":"x"}}"#);
        message.replace_id(&RequestId::parse("123456").unwrap());
        assert_eq!(message.bytes(), br#"{"id": 123456 ,"jsonrpc":"2.0","method":"m","params":{"id":"x"}}"#);
    }
}

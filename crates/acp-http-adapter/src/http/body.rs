//! Reading a message's body into one line, within the limits.

use std::fmt::Display;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;
use http_body_util::BodyExt;
use http_edge::{Code, Problem};

use crate::budget::Reservation;
use crate::envelope::{Envelope, EnvelopeError, flatten};
use crate::shared::Shared;

/// Memory is taken in steps of this size while a large body comes in, rather than on the word of its header.
const STEP: usize = 256 << 10;

/// How much of a body that is too large is read all the same, and for how long.
const DISCARDED_BYTES: usize = 256 << 20;
const DISCARDING_TIME: Duration = Duration::from_secs(10);

/// A body that is a message.
pub(super) struct Message {
    /// The message with its line feed.
    pub(super) line: Bytes,
    pub(super) envelope: Envelope,
    pub(super) memory: Reservation,
}

impl Message {
    /// Reads a message to its end.
    ///
    /// # Errors
    /// 413 when it is too long, 503 when memory is out, 400 when it is no message.
    pub(super) async fn read<B>(body: &mut B, shared: &Shared) -> Result<Self, Problem>
    where
        B: Body<Data = Bytes, Error: Display> + Unpin,
    {
        let limit = shared.limits.max_message_bytes;
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            Box::pin(discard(body)).await;
            return Err(too_large(limit));
        }
        let mut memory = Reservation::empty(&shared.budget);
        let mut held = BytesMut::new();
        while !body.is_end_stream()
            && let Some(frame) = body.frame().await
        {
            let frame = frame.map_err(|error| {
                Problem::new(Code::InvalidJson, format!("the body could not be read to its end: {error}"))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if held.len() + data.len() > limit {
                drop(held);
                Box::pin(discard(body)).await;
                return Err(too_large(limit));
            }
            // One byte more, for the line feed.
            let needed = held.len() + data.len() + 1;
            if needed > held.capacity() {
                let target = needed.max((held.capacity() * 2).min(announced + 1)).max(needed.min(STEP));
                reserve(&mut memory, target - held.capacity(), shared)?;
                held.reserve(target - held.len());
            }
            held.extend_from_slice(&data);
        }
        Self::of(held, memory)
    }

    /// Takes a message that is there.
    ///
    /// # Errors
    /// The same.
    pub(super) fn of_whole(body: &[u8], shared: &Shared) -> Result<Self, Problem> {
        let limit = shared.limits.max_message_bytes;
        if body.len() > limit {
            return Err(too_large(limit));
        }
        let mut memory = Reservation::empty(&shared.budget);
        reserve(&mut memory, body.len() + 1, shared)?;
        let mut held = BytesMut::with_capacity(body.len() + 1);
        held.extend_from_slice(body);
        Self::of(held, memory)
    }

    fn of(mut held: BytesMut, memory: Reservation) -> Result<Self, Problem> {
        let envelope = Envelope::parse(&held).map_err(|error| not_a_message(&error))?;
        flatten(&mut held);
        held.extend_from_slice(b"\n");
        Ok(Self { line: held.freeze(), envelope, memory })
    }

    /// Whether somebody must answer it.
    pub(super) fn is_request(&self) -> bool {
        matches!(self.envelope, Envelope::Request(_))
    }
}

fn reserve(memory: &mut Reservation, bytes: usize, shared: &Shared) -> Result<(), Problem> {
    if memory.grow(bytes) {
        return Ok(());
    }
    shared.make_room(bytes);
    if memory.grow(bytes) {
        return Ok(());
    }
    Err(Problem::new(
        Code::MemoryBudgetExhausted,
        "messages on their way take all of --memory-budget; try again when agents have read theirs",
    )
    .retry_after(5))
}

/// Reads on for a while and forgets it. A client that is still sending when the connection closes would lose the
/// answer with it.
async fn discard(body: &mut (impl Body<Data = Bytes> + Unpin)) {
    let discarding = async {
        let mut discarded = 0;
        while let Some(Ok(frame)) = body.frame().await {
            discarded += frame.data_ref().map_or(0, Bytes::len);
            if discarded > DISCARDED_BYTES {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARDING_TIME, discarding).await;
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        Code::PayloadTooLarge,
        format!("a message may have {limit} bytes (--max-message-bytes); send large data through /v1/fs"),
    )
    .with("limit", limit)
}

fn not_a_message(error: &EnvelopeError) -> Problem {
    match error {
        EnvelopeError::Shape(reason) => {
            Problem::new(Code::InvalidEnvelope, format!("{reason}; send one JSON-RPC 2.0 message"))
        }
        EnvelopeError::Encoding(_) | EnvelopeError::Json(_) => {
            Problem::new(Code::InvalidJson, format!("the body is {error}"))
        }
    }
}

/// Whether the body is there at all, for a clearer word than "not JSON".
pub(super) fn require_body(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.get(http::header::CONTENT_LENGTH).is_some_and(|length| length == "0") {
        return Err(Problem::new(Code::InvalidJson, "the body is empty; send one JSON-RPC 2.0 message"));
    }
    Ok(())
}

//! Reading a message's body into one line, within the limits.

use std::fmt::Display;

use acp_instances::{EnvelopeError, Message};
use bytes::{Bytes, BytesMut};
use event_log::Reservation;
use http::HeaderMap;
use http_body::Body;
use http_body_util::BodyExt;
use http_server::{Code, Problem};

use crate::door::DoorState;
use crate::problem::to_problem;

/// At most this many times the bytes that have arrived are reserved, even if the header announces a longer
/// body.
const AHEAD: usize = 4;

/// Reads a message to its end.
///
/// # Errors
/// 413 if the message is too long, 503 if memory runs out, 400 if the body is not a message.
pub(super) async fn read_message<B>(body: &mut B, door: &DoorState) -> Result<Message, Problem>
where
    B: Body<Data = Bytes, Error: Display> + Unpin,
{
    let limit = door.settings.max_message_bytes;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large(limit));
    }
    let mut memory = Reservation::empty(door.instances.memory());
    let mut held = BytesMut::new();
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let frame = frame.map_err(|error| {
            Problem::new(Code::InvalidJson, format!("the body could not be read completely: {error}"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if held.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        // One byte more than the body, for the line feed.
        let needed = held.len() + data.len() + 1;
        if needed > held.capacity() {
            let target = needed.max((needed * AHEAD).min(announced + 1));
            let more = target - held.capacity();
            door.instances.reserve(&mut memory, more).map_err(|error| to_problem(&error))?;
            held.reserve(target - held.len());
        }
        held.extend_from_slice(&data);
    }
    Message::parse(held, memory).map_err(|error| not_a_message(&error))
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        Code::PayloadTooLarge,
        format!(
            "a message may have at most {limit} bytes (--max-message-bytes); send large data through /v1/fs"
        ),
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

/// Refuses an empty body with a clearer reason than "not JSON".
pub(super) fn require_body(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.get(http::header::CONTENT_LENGTH).is_some_and(|length| length == "0") {
        return Err(Problem::new(Code::InvalidJson, "the body is empty; send one JSON-RPC 2.0 message"));
    }
    Ok(())
}

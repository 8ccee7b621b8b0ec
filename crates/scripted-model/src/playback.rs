//! Plays a turn at its pace: step by step as events, or as one document after its duration.
//!
//! A client that disconnects drops the stream, and with it the rest of the turn.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::Response;

use crate::answer::{Ending, Turn};
use crate::conversation::Usage;
use crate::journal::{Outcome, Ticket};
use crate::tools::Call;

/// The delay before the connection is broken. It lets earlier data be sent: an error discards data that is
/// still queued.
const BEFORE_BREAK: Duration = Duration::from_millis(100);

/// A turn with the metadata that the wire formats need.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// The id of the reply, without the prefix that each format adds.
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) turn: Turn,
    pub(crate) input_tokens: usize,
    pub(crate) usage: Usage,
}

/// One step of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    Start,
    Thought(&'a str),
    Word(&'a str),
    Call(&'a Call),
    End,
}

/// Writes the steps of one reply as events of one wire format.
pub(crate) trait EventWriter: Send {
    /// The frames for this step, ready to send.
    fn write(&mut self, step: Step<'_>) -> String;
}

/// The error that breaks the connection, as the script requested.
#[derive(Debug, thiserror::Error)]
#[error("the script breaks the connection here")]
struct Broken;

impl Reply {
    /// The step at `position`; `None` at the end of the turn.
    fn step(&self, position: usize) -> Option<Step<'_>> {
        let Some(mut position) = position.checked_sub(1) else { return Some(Step::Start) };
        let turn = &self.turn;
        if let Some(thought) = turn.thoughts.get(position) {
            return Some(Step::Thought(thought));
        }
        position -= turn.thoughts.len();
        if let Some(word) = turn.words.get(position) {
            return Some(Step::Word(word));
        }
        position -= turn.words.len();
        match (position, &turn.call) {
            (0, Some(call)) => Some(Step::Call(call)),
            (0, None) | (1, Some(_)) => Some(Step::End),
            _ => None,
        }
    }
}

struct Playback {
    reply: Reply,
    writer: Box<dyn EventWriter>,
    ticket: Ticket,
    position: usize,
    spoken: bool,
}

impl Playback {
    async fn next(mut self) -> Option<(Result<Bytes, Broken>, Self)> {
        loop {
            let step = self.reply.step(self.position)?;
            match step {
                // Skip a sleep of zero, which would still take a clock tick.
                Step::Word(_) if self.spoken && !self.reply.turn.pause.is_zero() => {
                    tokio::time::sleep(self.reply.turn.pause).await;
                }
                Step::Word(_) => self.spoken = true,
                Step::End if self.reply.turn.ending == Ending::CutOff => {
                    tokio::time::sleep(BEFORE_BREAK).await;
                    self.ticket.set_outcome(Outcome::Cut);
                    // Send nothing after an error.
                    self.position = usize::MAX;
                    return Some((Err(Broken), self));
                }
                Step::End => self.ticket.set_outcome(Outcome::Finished),
                Step::Start | Step::Thought(_) | Step::Call(_) => {}
            }
            let frames = self.writer.write(step);
            self.position += 1;
            // Some formats have no event for a step.
            if !frames.is_empty() {
                return Some((Ok(Bytes::from(frames)), self));
            }
        }
    }
}

/// The reply as a stream of events.
pub(crate) fn stream(reply: Reply, writer: Box<dyn EventWriter>, ticket: Ticket) -> Response<Body> {
    let playback = Playback { reply, writer, ticket, position: 0, spoken: false };
    let events = stream::unfold(playback, Playback::next);
    http_server::sse::response(Body::from_stream(events))
}

/// Waits for the duration of the turn.
pub(crate) async fn wait(turn: &Turn) {
    let pauses = u32::try_from(turn.words.len()).unwrap_or(u32::MAX);
    tokio::time::sleep(turn.pause.saturating_mul(pauses)).await;
}

/// A body that ends with an error, for answers in one document that the script cuts off.
pub(crate) fn broken(ticket: Ticket) -> Body {
    Body::from_stream(stream::unfold(Some(ticket), |ticket| async {
        // The ticket has been used up after the error, and that ends the stream.
        let mut ticket = ticket?;
        tokio::time::sleep(BEFORE_BREAK).await;
        ticket.set_outcome(Outcome::Cut);
        Some((Err::<Bytes, Broken>(Broken), None))
    }))
}

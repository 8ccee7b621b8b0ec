//! A turn at its pace: moment by moment as events, or whole once its time is over.
//!
//! A client that goes away drops the stream, and with it whatever was still to be said.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::Response;

use crate::answer::{Ending, Turn};
use crate::conversation::Usage;
use crate::journal::{Outcome, Ticket};
use crate::tools::Call;

/// What was said must have left before the connection breaks: an error throws away what waits to be sent.
const BEFORE_BREAK: Duration = Duration::from_millis(100);

/// A turn with what the wire formats put around it.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// Without the prefix that each format has its own of.
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) turn: Turn,
    pub(crate) input_tokens: usize,
    pub(crate) usage: Usage,
}

/// One thing that happens in a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment<'a> {
    Start,
    Thought(&'a str),
    Word(&'a str),
    Call(&'a Call),
    End,
}

/// Writes the moments of one reply as events of one wire format.
pub(crate) trait EventWriter: Send {
    /// The frames of this moment, ready to be sent.
    fn write(&mut self, moment: Moment<'_>) -> String;
}

/// The script asked for a broken connection.
#[derive(Debug, thiserror::Error)]
#[error("the script breaks the connection here")]
struct Broken;

impl Reply {
    /// The moment at `position`, or nothing when the turn is over.
    fn moment(&self, position: usize) -> Option<Moment<'_>> {
        let Some(mut position) = position.checked_sub(1) else { return Some(Moment::Start) };
        let turn = &self.turn;
        if let Some(thought) = turn.thoughts.get(position) {
            return Some(Moment::Thought(thought));
        }
        position -= turn.thoughts.len();
        if let Some(word) = turn.words.get(position) {
            return Some(Moment::Word(word));
        }
        position -= turn.words.len();
        match (position, &turn.call) {
            (0, Some(call)) => Some(Moment::Call(call)),
            (0, None) | (1, Some(_)) => Some(Moment::End),
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
            let moment = self.reply.moment(self.position)?;
            match moment {
                // Even a sleep of nothing takes a tick of the clock.
                Moment::Word(_) if self.spoken && !self.reply.turn.pause.is_zero() => {
                    tokio::time::sleep(self.reply.turn.pause).await;
                }
                Moment::Word(_) => self.spoken = true,
                Moment::End if self.reply.turn.ending == Ending::CutOff => {
                    tokio::time::sleep(BEFORE_BREAK).await;
                    self.ticket.ends_as(Outcome::Cut);
                    // Nothing follows an error.
                    self.position = usize::MAX;
                    return Some((Err(Broken), self));
                }
                Moment::End => self.ticket.ends_as(Outcome::Finished),
                Moment::Start | Moment::Thought(_) | Moment::Call(_) => {}
            }
            let frames = self.writer.write(moment);
            self.position += 1;
            // A format may have nothing to say about a moment.
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

/// Waits as long as the turn takes to be said.
pub(crate) async fn wait(turn: &Turn) {
    let pauses = u32::try_from(turn.words.len()).unwrap_or(u32::MAX);
    tokio::time::sleep(turn.pause.saturating_mul(pauses)).await;
}

/// A body that breaks off: for whole answers that the script cuts.
pub(crate) fn broken(ticket: Ticket) -> Body {
    Body::from_stream(stream::unfold(Some(ticket), |ticket| async {
        // Nothing follows the error, which the ticket's absence tells.
        let mut ticket = ticket?;
        tokio::time::sleep(BEFORE_BREAK).await;
        ticket.ends_as(Outcome::Cut);
        Some((Err::<Bytes, Broken>(Broken), None))
    }))
}

//! Turns a subscription into a response that streams server-sent events.
//!
//! The connection requests events only when it can send them, so a slow reader needs little memory and slows
//! down nothing else.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use acp_instances::{Subscription, Update};
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use event_log::Run;
use futures_util::stream;
use http_server::ChargedBody;
use http_server::sse::{self, GREETING, HEARTBEAT};
use metrics::GaugeGuard;

use crate::door::DoorState;
use crate::frame::Frames;
use crate::metrics::StreamMetrics;
use crate::wire::InstanceList;

/// The kinds of streams, by what they contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The messages of one agent.
    Messages,
    /// Both directions of one instance.
    Journal,
    /// Several instances.
    Many,
}

/// Streams a subscription.
pub(crate) fn respond(door: Arc<DoorState>, subscription: Box<dyn Subscription>, shown: Shown) -> Response {
    let open = metrics(&door, shown).open.hold();
    let mut pieces = VecDeque::new();
    pieces.push_back(Bytes::from_static(GREETING));
    let start = Streaming { door, subscription, shown, pieces, _open: open };
    let frames = stream::unfold(start, |mut streaming| async move {
        let piece = streaming.next().await?;
        Some((Ok::<_, Infallible>(piece), streaming))
    });
    let mut response = sse::response(Body::from_stream(frames));
    // Its pieces share the log's memory, or were charged when they were made.
    response.extensions_mut().insert(ChargedBody);
    response
}

const fn metrics(door: &DoorState, shown: Shown) -> &StreamMetrics {
    match shown {
        Shown::Messages => &door.metrics.messages,
        Shown::Journal => &door.metrics.journal,
        Shown::Many => &door.metrics.many,
    }
}

struct Streaming {
    door: Arc<DoorState>,
    subscription: Box<dyn Subscription>,
    shown: Shown,
    /// Frames that the connection has not sent yet.
    pieces: VecDeque<Bytes>,
    _open: GaugeGuard,
}

impl Streaming {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Some(piece);
            }
            let next = tokio::time::timeout(self.door.settings.heartbeat, self.subscription.next());
            match next.await {
                Ok(Some(Ok(updates))) => self.frame(&updates),
                Ok(Some(Err(error))) => {
                    // The client reconnects with its cursor and then receives the error.
                    tracing::debug!(%error, "a subscription failed");
                    return None;
                }
                Ok(None) => return None,
                Err(_elapsed) => return Some(Bytes::from_static(HEARTBEAT)),
            }
        }
    }

    fn frame(&mut self, updates: &[Update]) {
        let metrics = metrics(&self.door, self.shown);
        let began_at = self.subscription.began_at();
        let mut frames = Frames::new(self.door.instances.memory());
        for update in updates {
            match update {
                Update::Gap { .. } => metrics.gaps.increment(),
                Update::Events { run, .. } => metrics.sent(run.len() as u64, is_replayed(run, began_at)),
                Update::Retained { .. } => metrics.sent(1, true),
                Update::Change(change) => metrics.sent(1, change.position <= began_at),
                Update::Instances(_) => {}
            }
            match self.shown {
                Shown::Messages => frame_message(&mut frames, update),
                Shown::Journal => frame_journal(&mut frames, update),
                Shown::Many => frame_many(&mut frames, update),
            }
        }
        self.pieces.extend(frames.finish());
        metrics.bytes.add(self.pieces.iter().map(|piece| piece.len() as u64).sum());
    }
}

/// Whether the events of a run happened before the stream began. The events of a run get their numbers together, so the
/// answer is the same for all of them, and only the last one is checked.
fn is_replayed(run: &Run, began_at: u64) -> bool {
    run.last().order <= began_at
}

fn frame_message(frames: &mut Frames, update: &Update) {
    match update {
        Update::Events { run, .. } => frames.messages(run),
        Update::Retained { sequence, request, .. } => frames.retained(Some(*sequence), request),
        Update::Gap { gap, .. } => frames.message_gap(gap),
        Update::Instances(_) | Update::Change(_) => {}
    }
}

fn frame_journal(frames: &mut Frames, update: &Update) {
    match update {
        Update::Events { run, .. } => frames.journal(run),
        Update::Retained { request, .. } => frames.retained(None, request),
        Update::Gap { gap, .. } => frames.journal_gap(None, gap),
        Update::Instances(_) | Update::Change(_) => {}
    }
}

fn frame_many(frames: &mut Frames, update: &Update) {
    match update {
        Update::Events { server_id, run } => frames.wrapped(server_id, run),
        Update::Retained { server_id, sequence, request } => {
            frames.wrapped_retained(server_id, *sequence, request);
        }
        Update::Gap { server_id, gap } => frames.journal_gap(server_id.as_ref(), gap),
        Update::Instances(instances) => frames.plain("instances", InstanceList::new(instances).to_json()),
        Update::Change(change) => frames.change(change),
    }
}

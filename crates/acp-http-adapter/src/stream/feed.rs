//! Turning a feed into an HTTP response.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http_edge::sse::{self, GREETING, HEARTBEAT};
use measures::Held;
use tokio::sync::watch;

use crate::measures::StreamMeasures;

/// What a feed has to say now.
#[derive(Debug)]
pub(crate) enum Pull {
    /// These frames.
    Data(Bytes),
    /// Nothing until something changes.
    Wait,
    /// Nothing ever again.
    End,
}

/// Something that can be streamed.
pub(crate) trait Feed: Send + 'static {
    /// The next frames. Never blocks, takes locks for moments only.
    fn pull(&mut self) -> Pull;

    /// Where this kind of feed is counted.
    fn measures(&self) -> &StreamMeasures;
}

/// Streams a feed. `changed` wakes it.
pub(crate) fn respond(feed: impl Feed, changed: watch::Receiver<()>, heartbeat: Duration) -> Response {
    let open = feed.measures().open.hold();
    let start = Streaming { feed, changed, heartbeat, greeted: false, _open: open };
    let frames = stream::unfold(start, |mut streaming| async move {
        let frame = streaming.next().await?;
        Some((Ok::<_, Infallible>(frame), streaming))
    });
    sse::response(Body::from_stream(frames))
}

struct Streaming<F> {
    feed: F,
    changed: watch::Receiver<()>,
    heartbeat: Duration,
    greeted: bool,
    _open: Held,
}

impl<F: Feed> Streaming<F> {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.greeted {
            self.greeted = true;
            return Some(Bytes::from_static(GREETING));
        }
        loop {
            // Seen before looked at: a change while looking wakes the wait below.
            self.changed.mark_unchanged();
            match self.feed.pull() {
                Pull::Data(frames) => {
                    self.feed.measures().bytes.add(frames.len() as u64);
                    return Some(frames);
                }
                Pull::End => return None,
                Pull::Wait => match tokio::time::timeout(self.heartbeat, self.changed.changed()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_gone)) => return None,
                    Err(_elapsed) => return Some(Bytes::from_static(HEARTBEAT)),
                },
            }
        }
    }
}

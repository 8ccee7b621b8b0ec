//! The body of a request: never dropped in the middle of what a client sends.
//!
//! A server that answers and closes while its client still sends makes the client's system throw the answer away.
//! So the rest of a refused body is read and discarded for a while, in the background.

use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use http_server::{Code, Problem};

/// A client that sends nothing for so long is taken to be gone: what it left unfinished must not lie around for ever.
const SILENCE: Duration = Duration::from_secs(600);
/// What is read at most of a body that nobody wants.
const DISCARD_BYTES: u64 = 64 << 20;
/// For how long.
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// What a client sends.
#[derive(Debug)]
pub(super) struct Upload {
    body: Body,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The client waits for `100 Continue`; it need not send anything if it is refused now.
    Waiting,
    Underway,
    Ended,
}

impl Upload {
    pub(super) fn new(headers: &HeaderMap, body: Body) -> Self {
        let waits = headers.contains_key(header::EXPECT);
        Self { body, state: if waits { State::Waiting } else { State::Underway } }
    }

    /// How many bytes it says to have at least.
    pub(super) fn announced(&self) -> u64 {
        self.body.size_hint().lower()
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// The client has gone, has fallen silent, or does not speak HTTP.
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        self.state = State::Underway;
        loop {
            let Ok(frame) = tokio::time::timeout(SILENCE, self.body.frame()).await else {
                self.state = State::Ended;
                return Err(io::ErrorKind::TimedOut.into());
            };
            match frame {
                None => {
                    self.state = State::Ended;
                    return Ok(None);
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    self.state = State::Ended;
                    return Err(io::Error::other(error));
                }
            }
        }
    }

    /// About so many of the next bytes, as they came; fewer only at the end.
    ///
    /// # Errors
    /// As [`Upload::next`].
    pub(super) async fn next_batch(&mut self, wanted: usize) -> io::Result<Vec<Bytes>> {
        let mut batch = Vec::new();
        let mut count = 0;
        while count < wanted {
            let Some(bytes) = self.next().await? else { break };
            count += bytes.len();
            batch.push(bytes);
        }
        Ok(batch)
    }

    /// All of it, for bodies that are small or wrong.
    ///
    /// # Errors
    /// 413 `payload_too_large`, 400 `incomplete_body`.
    pub(super) async fn read_all(mut self, limit: usize) -> Result<BytesMut, Problem> {
        let mut held = BytesMut::new();
        while let Some(bytes) = self.next().await.map_err(|_| incomplete())? {
            if held.len() + bytes.len() > limit {
                let detail = format!("the body may have {limit} bytes here; send a shorter one");
                return Err(Problem::new(Code::PayloadTooLarge, detail).with("limit", limit));
            }
            held.extend_from_slice(&bytes);
        }
        Ok(held)
    }

    /// Whether all of it has been read.
    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.state != State::Underway {
            return;
        }
        let body = std::mem::take(&mut self.body);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(DISCARD_TIME, discard(body)));
        }
    }
}

async fn discard(mut body: Body) {
    let mut left = DISCARD_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let count = frame.data_ref().map_or(0, |data| data.len() as u64);
        match left.checked_sub(count) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// The problem of a body that its client did not finish.
pub(super) fn incomplete() -> Problem {
    Problem::new(
        Code::IncompleteBody,
        "the body ended before it was complete; nothing was stored, send it again",
    )
}

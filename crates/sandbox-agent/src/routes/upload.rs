//! The body of a request, which is never dropped while the client is still sending it.
//!
//! If a server answers and closes the connection while the client is still sending, the client's system may discard the
//! response. So the rest of a rejected body is read and discarded in the background, up to a limit.

use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use http_server::{Code, Problem};

/// A client that sends nothing for this long is considered gone, so that partial uploads are not kept forever.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// How many bytes of a rejected body are read at most.
const DISCARD_BYTES: u64 = 64 << 20;
/// How long a rejected body is read at most.
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// The body that a client sends.
#[derive(Debug)]
pub(super) struct Upload {
    body: Body,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The client waits for `100 Continue`; it sends nothing if the request is rejected now.
    AwaitingContinue,
    InProgress,
    Ended,
}

impl Upload {
    pub(super) fn new(headers: &HeaderMap, body: Body) -> Self {
        let waits = headers.contains_key(header::EXPECT);
        Self { body, state: if waits { State::AwaitingContinue } else { State::InProgress } }
    }

    /// The minimum size of the body, from its headers.
    pub(super) fn declared_size(&self) -> u64 {
        self.body.size_hint().lower()
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// The client disconnected, stopped sending, or sent invalid HTTP.
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        self.state = State::InProgress;
        loop {
            let Ok(frame) = tokio::time::timeout(IDLE_TIMEOUT, self.body.frame()).await else {
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

    /// The next chunks, with at least `wanted` bytes together; fewer only at the end.
    ///
    /// # Errors
    /// See [`Upload::next`].
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

    /// The whole body, for endpoints with small bodies.
    ///
    /// # Errors
    /// 413 `payload_too_large`, 400 `incomplete_body`.
    pub(super) async fn read_all(mut self, limit: usize) -> Result<BytesMut, Problem> {
        let mut held = BytesMut::new();
        while let Some(bytes) = self.next().await.map_err(|_| incomplete())? {
            if held.len() + bytes.len() > limit {
                let detail = format!("the body may have at most {limit} bytes; send a shorter one");
                return Err(Problem::new(Code::PayloadTooLarge, detail).with("limit", limit));
            }
            held.extend_from_slice(&bytes);
        }
        Ok(held)
    }

    /// True when the whole body has been read.
    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.state != State::InProgress {
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

/// The problem for an incomplete body.
pub(super) fn incomplete() -> Problem {
    Problem::new(
        Code::IncompleteBody,
        "the body ended before it was complete; nothing was stored, so send it again",
    )
}

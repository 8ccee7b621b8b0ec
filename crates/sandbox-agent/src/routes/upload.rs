//! The body that a client sends to be stored.

use std::io;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use http_server::{Code, Problem};

/// The body that a client sends.
#[derive(Debug)]
pub(super) struct Upload {
    body: Body,
    has_ended: bool,
}

impl Upload {
    pub(super) const fn new(body: Body) -> Self {
        Self { body, has_ended: false }
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
        loop {
            match self.body.frame().await {
                None => {
                    self.has_ended = true;
                    return Ok(None);
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    self.has_ended = true;
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
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }
}

/// The problem for an incomplete body.
pub(super) fn incomplete() -> Problem {
    Problem::new(
        Code::IncompleteBody,
        "the body ended before it was complete; nothing was stored, so send it again",
    )
}

//! The body of a request, with two limits that every route needs.
//!
//! The server does not wait forever for a client that stops sending. And if the server answers before it has
//! read the whole body, it reads and discards the rest in the background, up to a limit: HTTP/1 cannot refuse
//! the rest of a body, so the connection would be closed while the client is still sending, and the client's
//! system would discard the response.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http::header::EXPECT;
use http::request::Parts;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::Sleep;

use crate::connections::Busy;

/// A client that sends nothing for this long while the server waits for the rest of a body is considered gone.
const SILENCE_LIMIT: Duration = Duration::from_secs(120);
/// How many bytes of a rejected body are read at most.
const DISCARD_BYTES: usize = 256 << 20;
/// How long a rejected body is read at most.
const DISCARD_TIME: Duration = Duration::from_secs(10);

/// The body of a request.
#[derive(Debug)]
pub struct RequestBody {
    /// `Some`, except while this value is being dropped.
    body: Option<Incoming>,
    is_http2: bool,
    /// True if the rest of a body that is dropped early must be read and discarded.
    discards_rest: bool,
    /// The timer that runs while the server waits for the client.
    silence: Option<Pin<Box<Sleep>>>,
    busy: Busy,
}

/// Why a body could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum RequestBodyError {
    /// The connection failed, or what arrived is not HTTP.
    #[error(transparent)]
    Http(#[from] hyper::Error),
    /// The client stopped sending.
    #[error("the client sent nothing for {} s", .0.as_secs())]
    Silent(Duration),
}

impl RequestBody {
    pub(crate) fn new(head: &Parts, body: Incoming, busy: Busy) -> Self {
        let is_http2 = head.version == Version::HTTP_2;
        // An HTTP/2 stream can be refused on its own. A client that waits for `100 Continue` sends no body
        // until the server reads it, and reading would send `100 Continue`.
        let discards_rest = !is_http2 && !head.headers.contains_key(EXPECT);
        Self { body: Some(body), is_http2, discards_rest, silence: None, busy }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = RequestBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestBodyError>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        this.discards_rest = !this.is_http2;
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
            this.silence = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(RequestBodyError::from)));
        }
        let silence = this.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(SILENCE_LIMIT)));
        ready!(silence.as_mut().poll(context));
        this.discards_rest = false;
        Poll::Ready(Some(Err(RequestBodyError::Silent(SILENCE_LIMIT))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(body) = self.body.take() else { return };
        if self.discards_rest
            && !body.is_end_stream()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(tokio::time::timeout(DISCARD_TIME, discard(body, self.busy.clone())));
        }
    }
}

async fn discard(mut body: Incoming, _busy: Busy) {
    let mut left = DISCARD_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

//! The body of a response. A body that is already complete needs no box; bodies from the router are boxed.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// The body of a response.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    /// The complete body; empty after it was sent.
    Whole(Bytes),
    /// A body from one of the router's handlers.
    Routed(Body),
}

impl From<String> for ResponseBody {
    fn from(text: String) -> Self {
        Self::Whole(text.into())
    }
}

impl ResponseBody {
    /// A body without bytes.
    pub(crate) const fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Routed(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Routed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Routed(body) => body.size_hint(),
        }
    }
}

//! The body of an answer: mostly a few bytes that are there, which need no box; else whatever the router gave.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// What is sent behind the head of an answer.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    /// All of it; empty when it is sent.
    Whole(Bytes),
    /// What the router's handlers made.
    Routed(Body),
}

impl From<String> for AnswerBody {
    fn from(text: String) -> Self {
        Self::Whole(text.into())
    }
}

impl AnswerBody {
    /// Nothing.
    pub(crate) const fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl HttpBody for AnswerBody {
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

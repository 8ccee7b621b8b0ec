//! Tracks whether an HTTP/2 connection has open requests, including responses that are still being sent.
//!
//! An HTTP/1 connection carries one request at a time, and hyper limits the time between two of them. So the
//! requests of HTTP/1 are not counted, and cost nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;

use crate::response_body::ResponseBody;

/// The number of open requests of one connection; `None` until the first HTTP/2 request.
#[derive(Debug, Default)]
pub(crate) struct Activity(watch::Sender<Option<usize>>);

impl Activity {
    /// Counts a request as open until the returned value is dropped.
    pub(crate) fn begin(self: &Arc<Self>, version: Version) -> Option<OpenRequest> {
        (version == Version::HTTP_2).then(|| {
            self.0.send_modify(|open| *open = Some(open.unwrap_or(0) + 1));
            OpenRequest(Arc::clone(self))
        })
    }

    /// Waits until there has been no open request for `limit`. Never returns for HTTP/1.
    pub(crate) async fn wait_until_idle(&self, limit: Duration) {
        let mut open = self.0.subscribe();
        // These waits cannot fail: the sender is in this value.
        loop {
            let _ = open.wait_for(|open| *open == Some(0)).await;
            if tokio::time::timeout(limit, open.wait_for(|open| *open != Some(0))).await.is_err() {
                return;
            }
        }
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct OpenRequest(Arc<Activity>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.0.send_modify(|open| *open = open.map(|count| count - 1));
    }
}

/// The body of a response. The request stays open until the body has been sent.
#[derive(Debug)]
pub(crate) struct TrackedBody {
    body: ResponseBody,
    _open: Option<OpenRequest>,
}

impl TrackedBody {
    pub(crate) const fn new(body: ResponseBody, open: Option<OpenRequest>) -> Self {
        Self { body, _open: open }
    }
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

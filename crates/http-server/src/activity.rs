//! Tracks whether an HTTP/2 connection has open requests, including responses that are still being sent.
//!
//! An HTTP/1 connection carries one request at a time, and hyper limits the time between two of them. So the
//! requests of HTTP/1 are not counted, and cost nothing.

use std::sync::Arc;
use std::time::Duration;

use http::Version;
use tokio::sync::watch;

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

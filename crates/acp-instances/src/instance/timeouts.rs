//! Ends the wait of callers whose request timed out.
//!
//! All requests of an instance have the same time limit, so one timer per instance is enough. It runs while a
//! caller waits, and is set again only when it has run out. A timer per request would cost more than most of
//! the other work for the request.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::Instance;
use crate::error::Error;

impl Instance {
    /// Starts the timer that tells waiting callers when their time is up.
    pub(super) fn watch_timeouts(self: &Arc<Self>) {
        let Some(limit) = self.shared.limits.request_timeout else { return };
        // A weak reference, since the timer must not keep the instance alive.
        let (instance, closed) = (Arc::downgrade(self), self.close.clone());
        tokio::spawn(async move {
            while let Some(next) = settle_timed_out(&instance, limit) {
                tokio::select! {
                    () = tokio::time::sleep_until(next.into()) => {}
                    () = closed.cancelled() => return,
                }
            }
        });
    }
}

/// Settles the callers that have waited for `limit`. Returns when to check again; `None` if no caller waits.
fn settle_timed_out(instance: &Weak<Instance>, limit: Duration) -> Option<Instant> {
    let instance = instance.upgrade()?;
    let (timed_out, oldest) = {
        let mut state = instance.lock();
        let (timed_out, oldest) = state.client_requests.take_timed_out(limit, Instant::now());
        state.has_timer = oldest.is_some();
        (timed_out, oldest)
    };
    for waiter in timed_out {
        // The request itself stays open: its answer may still arrive, and its id is taken until then.
        let _ = waiter.send(Err(Error::Timeout { limit }));
    }
    oldest.map(|since| since + limit)
}

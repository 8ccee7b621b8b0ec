//! Requests that have waited too long.
//!
//! All requests of an instance may wait equally long, so one timer an instance is enough: it runs while something
//! waits, and is set anew only when it has run out. A timer a request would cost more than most of what else is done
//! for it.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use http_edge::{Code, Problem};

use super::Instance;
use crate::pending::Outcome;

impl Instance {
    /// Sees to it that whoever waits hears of it when the time is over.
    pub(super) fn watch_overdue(self: &Arc<Self>) {
        let Some(limit) = self.shared.limits.request_timeout else { return };
        // Not the instance itself, which must not live on for a timer's sake.
        let (instance, closed) = (Arc::downgrade(self), self.close.clone());
        tokio::spawn(async move {
            while let Some(next) = tell_overdue(&instance, limit) {
                tokio::select! {
                    () = tokio::time::sleep_until(next.into()) => {}
                    () = closed.cancelled() => return,
                }
            }
        });
    }
}

/// Tells those who have waited for `limit`. Returns when to look again; none when nobody waits.
fn tell_overdue(instance: &Weak<Instance>, limit: Duration) -> Option<Instant> {
    let instance = instance.upgrade()?;
    let (overdue, oldest) = {
        let mut state = instance.lock();
        let (overdue, oldest) = state.pending.take_overdue(limit, Instant::now());
        state.overdue_watched = oldest.is_some();
        (overdue, oldest)
    };
    for waiter in overdue {
        // The request itself stays: its answer may still come, and its id is taken until then.
        let _ = waiter.send(Outcome::Failed(too_late(limit)));
    }
    oldest.map(|since| since + limit)
}

/// What a client is told that has waited long enough.
pub(crate) fn too_late(limit: Duration) -> Problem {
    Problem::new(
        Code::RequestTimeout,
        format!(
            "the agent has not answered within {} s; the answer, if it still comes, is on the stream. \
             `Prefer: respond-async` does not wait at all",
            limit.as_secs_f64()
        ),
    )
}

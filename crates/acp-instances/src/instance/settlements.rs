//! The outcomes of client requests, on their way from the state to the callers that wait.

use tokio::sync::oneshot;

use crate::client_requests::ClientRequest;
use crate::message::Settled;

/// Outcomes to be delivered to callers once the lock is released.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct Settlements {
    pub(super) requests: Vec<(ClientRequest, Settled)>,
    pub(super) starts: Vec<(oneshot::Sender<Settled>, Settled)>,
}

impl Settlements {
    pub(crate) const fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.starts.is_empty()
    }

    pub(crate) fn deliver(self) {
        for (request, settled) in self.requests {
            request.settle(settled);
        }
        for (sender, settled) in self.starts {
            let _ = sender.send(settled);
        }
    }
}

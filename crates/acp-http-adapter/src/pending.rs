//! Requests of clients that wait for the agent.

use std::collections::HashMap;

use bytes::Bytes;
use http_edge::Problem;
use tokio::sync::oneshot;

use crate::idempotency::IdempotencyKey;
use crate::request_id::RequestId;

/// How a request ended.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The agent's own bytes.
    Answer(Bytes),
    /// Nobody will answer it.
    Failed(Problem),
}

/// Where somebody waits for an outcome. Dropping it changes nothing for the request.
pub(crate) type Waiter = oneshot::Receiver<Outcome>;

/// Whether a client is still on the line for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The client waits for it.
    Waited,
    /// The client was told to look at the stream.
    OnStream,
}

/// One request that the agent has not answered.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) key: Option<IdempotencyKey>,
    delivery: Delivery,
    waiters: Vec<oneshot::Sender<Outcome>>,
}

impl PendingRequest {
    pub(crate) fn new(delivery: Delivery, key: Option<IdempotencyKey>) -> Self {
        Self { key, delivery, waiters: Vec::new() }
    }

    pub(crate) fn wait(&mut self) -> Waiter {
        let (sender, receiver) = oneshot::channel();
        // Callers that have gone make room for those that come.
        self.waiters.retain(|waiter| !waiter.is_closed());
        self.waiters.push(sender);
        receiver
    }

    /// Nobody will hear the outcome but on the stream.
    pub(crate) fn is_unattended(&self) -> bool {
        self.delivery == Delivery::OnStream || self.waiters.iter().all(oneshot::Sender::is_closed)
    }

    pub(crate) fn settle(self, outcome: Outcome) {
        let mut waiters = self.waiters;
        let last = waiters.pop();
        for waiter in waiters {
            // A caller that left in the meantime has lost nothing: the outcome is on the stream too.
            let _ = waiter.send(outcome.clone());
        }
        if let Some(last) = last {
            let _ = last.send(outcome);
        }
    }
}

/// All of an instance's waiting requests. An id stays taken until its answer comes or the process ends, also
/// when its caller has gone: a second request under it could be given the first one's answer.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests(HashMap<RequestId, PendingRequest>);

impl PendingRequests {
    pub(crate) fn is_taken(&self, id: &RequestId) -> bool {
        self.0.contains_key(id)
    }

    pub(crate) fn insert(&mut self, id: RequestId, request: PendingRequest) {
        self.0.insert(id, request);
    }

    pub(crate) fn get_mut(&mut self, id: &RequestId) -> Option<&mut PendingRequest> {
        self.0.get_mut(id)
    }

    /// Takes the request that a response with this id answers: the same id, else the same double.
    pub(crate) fn answer(&mut self, id: &RequestId) -> Option<(RequestId, PendingRequest)> {
        if let Some(found) = self.0.remove_entry(id) {
            return Some(found);
        }
        let double = id.as_double()?;
        let key = self.0.keys().find(|key| key.as_double() == Some(double))?.clone();
        self.0.remove_entry(&key)
    }

    pub(crate) fn mark_on_stream(&mut self, id: &RequestId) {
        if let Some(request) = self.0.get_mut(id) {
            request.delivery = Delivery::OnStream;
        }
    }

    pub(crate) fn take_all(&mut self) -> HashMap<RequestId, PendingRequest> {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn remove(&mut self, id: &RequestId) -> Option<PendingRequest> {
        self.0.remove(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> RequestId {
        RequestId::parse(json).unwrap()
    }

    fn with(ids: &[&str]) -> PendingRequests {
        let mut pending = PendingRequests::default();
        for json in ids {
            pending.insert(id(json), PendingRequest::new(Delivery::Waited, None));
        }
        pending
    }

    #[test]
    fn an_answer_finds_its_request_by_text_then_by_double() {
        let mut pending = with(&["12", "\"12\"", "12345678901234567890123"]);
        assert_eq!(pending.answer(&id("\"12\"")).unwrap().0, id("\"12\""));
        assert_eq!(pending.answer(&id("12.0")).unwrap().0, id("12"));
        let rounded = pending.answer(&id("1.2345678901234568e+22")).unwrap().0;
        assert_eq!(rounded.as_json(), "12345678901234567890123");
        assert!(pending.answer(&id("99")).is_none());
    }

    #[test]
    fn every_caller_hears_the_outcome_and_gone_callers_leave_no_trace() {
        let mut request = PendingRequest::new(Delivery::Waited, None);
        drop(request.wait());
        assert!(request.is_unattended());
        let mut first = request.wait();
        let mut second = request.wait();
        assert!(!request.is_unattended());
        assert_eq!(request.waiters.len(), 2);
        request.settle(Outcome::Answer(Bytes::from_static(b"x")));
        for waiter in [&mut first, &mut second] {
            assert!(matches!(waiter.try_recv(), Ok(Outcome::Answer(bytes)) if bytes == "x"));
        }
    }
}

//! Requests of clients that wait for the agent.

use std::collections::HashMap;
use std::time::{Duration, Instant};

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

/// Somebody who waits.
#[derive(Debug)]
struct Waiting {
    sender: oneshot::Sender<Outcome>,
    since: Instant,
}

/// One request that the agent has not answered.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) key: Option<IdempotencyKey>,
    delivery: Delivery,
    /// Nearly always there is one at the most.
    waiting: Option<Waiting>,
    /// Those who sent the same message again.
    more: Vec<Waiting>,
}

impl PendingRequest {
    pub(crate) fn new(delivery: Delivery, key: Option<IdempotencyKey>) -> Self {
        Self { key, delivery, waiting: None, more: Vec::new() }
    }

    pub(crate) fn wait(&mut self) -> Waiter {
        let (sender, receiver) = oneshot::channel();
        let waiting = Waiting { sender, since: Instant::now() };
        // Callers that have gone make room for those that come.
        self.more.retain(|one| !one.sender.is_closed());
        match &self.waiting {
            Some(one) if !one.sender.is_closed() => self.more.push(waiting),
            _ => self.waiting = Some(waiting),
        }
        receiver
    }

    /// Nobody will hear the outcome but on the stream.
    pub(crate) fn is_unattended(&self) -> bool {
        self.delivery == Delivery::OnStream || self.all().all(|one| one.sender.is_closed())
    }

    fn all(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter().chain(&self.more)
    }

    pub(crate) fn settle(self, outcome: Outcome) {
        for one in self.more {
            // A caller that left in the meantime has lost nothing: the outcome is on the stream too.
            let _ = one.sender.send(outcome.clone());
        }
        if let Some(one) = self.waiting {
            let _ = one.sender.send(outcome);
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

    /// Takes out those who have waited for `limit`, and says since when the others do. The requests stay.
    pub(crate) fn take_overdue(
        &mut self,
        limit: Duration,
        now: Instant,
    ) -> (Vec<oneshot::Sender<Outcome>>, Option<Instant>) {
        let is_overdue = |one: &mut Waiting| now.duration_since(one.since) >= limit;
        let mut overdue = Vec::new();
        for request in self.0.values_mut() {
            overdue.extend(request.more.extract_if(.., is_overdue));
            overdue.extend(request.waiting.take_if(is_overdue));
        }
        let oldest = self.0.values().flat_map(PendingRequest::all).map(|one| one.since).min();
        (overdue.into_iter().map(|one| one.sender).collect(), oldest)
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
        assert_eq!(request.all().count(), 2);
        request.settle(Outcome::Answer(Bytes::from_static(b"x")));
        for waiter in [&mut first, &mut second] {
            assert!(matches!(waiter.try_recv(), Ok(Outcome::Answer(bytes)) if bytes == "x"));
        }
    }

    #[test]
    fn who_has_waited_too_long_is_taken_out_and_the_request_stays() {
        let mut pending = with(&["1", "2", "3"]);
        let waiters: Vec<_> =
            ["1", "1", "2"].iter().map(|json| pending.get_mut(&id(json)).unwrap().wait()).collect();
        let (limit, now) = (Duration::from_secs(10), Instant::now());
        let (overdue, oldest) = pending.take_overdue(limit, now);
        assert!(overdue.is_empty() && oldest.is_some_and(|since| since <= now));
        let (overdue, oldest) = pending.take_overdue(limit, now + limit * 2);
        assert_eq!((overdue.len(), oldest, pending.len()), (3, None, 3));
        drop(waiters);
    }
}

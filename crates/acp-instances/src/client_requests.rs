//! Client requests that wait for the agent's answer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::caller::Asker;
use crate::id_map::IdMap;
use crate::idempotency::IdempotencyKey;
use crate::message::{Delivery, Settled};
use crate::request_id::RequestId;

/// The first id that the engine assigns: far above what clients count to, and exactly representable as a
/// double.
const FIRST_ASSIGNED: u64 = 1 << 40;

/// A caller that waits for an answer.
#[derive(Debug)]
struct Waiter {
    sender: oneshot::Sender<Settled>,
    since: Instant,
}

/// One request that the agent has not answered yet.
#[derive(Debug)]
pub(crate) struct ClientRequest {
    /// When the request was admitted.
    pub(crate) since: Instant,
    pub(crate) key: Option<IdempotencyKey>,
    /// The connection that sent the request. Set only if no other connection may receive the answer.
    pub(crate) asker: Option<Asker>,
    /// The message, kept until it is known whether this request and its answer are the process's first exchange (see
    /// [`crate::first_exchange`]).
    pub(crate) line: Option<Bytes>,
    delivery: Delivery,
    /// The caller that waits for the answer. Nearly always there is at most one.
    waiter: Option<Waiter>,
    /// Further callers, which sent the same message again.
    more: Vec<Waiter>,
}

impl ClientRequest {
    pub(crate) fn new(
        delivery: Delivery,
        key: Option<IdempotencyKey>,
        asker: Option<Asker>,
        since: Instant,
    ) -> Self {
        Self { since, key, asker, line: None, delivery, waiter: None, more: Vec::new() }
    }

    /// Adds a caller that has waited since `since`.
    pub(crate) fn wait(&mut self, since: Instant) -> oneshot::Receiver<Settled> {
        let (sender, receiver) = oneshot::channel();
        let waiter = Waiter { sender, since };
        // Remove callers that have left, so that repeats cannot grow the list without end.
        self.more.retain(|one| !one.sender.is_closed());
        match &self.waiter {
            Some(one) if !one.sender.is_closed() => self.more.push(waiter),
            _ => self.waiter = Some(waiter),
        }
        receiver
    }

    /// True if a failure must be reported in the log: the client asked for that, no caller waits, or a caller has
    /// left.
    pub(crate) fn is_unattended(&self) -> bool {
        let has_left = |one: &Waiter| one.sender.is_closed();
        self.delivery == Delivery::Log || self.waiters().next().is_none() || self.waiters().any(has_left)
    }

    fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.waiter.iter().chain(&self.more)
    }

    pub(crate) fn settle(self, settled: Settled) {
        for one in self.more {
            // A caller that left in the meantime has lost nothing: the log has the outcome too.
            let _ = one.sender.send(settled.clone());
        }
        if let Some(one) = self.waiter {
            let _ = one.sender.send(settled);
        }
    }
}

/// All client requests of an instance that wait for an answer. An id stays taken until the answer arrives or
/// the process ends, even if the caller has left: a second request under the same id could otherwise receive
/// the first one's answer.
#[derive(Debug, Default)]
pub(crate) struct ClientRequests {
    open: IdMap<ClientRequest>,
    assigned: u64,
}

impl ClientRequests {
    pub(crate) fn is_taken(&self, id: &RequestId) -> bool {
        self.open.contains(id)
    }

    /// An integer id that no waiting request uses.
    pub(crate) fn free_id(&mut self) -> RequestId {
        loop {
            let id = RequestId::number(FIRST_ASSIGNED + self.assigned);
            self.assigned += 1;
            if !self.is_taken(&id) {
                return id;
            }
        }
    }

    pub(crate) fn insert(&mut self, id: RequestId, request: ClientRequest) {
        self.open.insert(id, request);
    }

    pub(crate) fn get_mut(&mut self, id: &RequestId) -> Option<&mut ClientRequest> {
        self.open.get_mut(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RequestId, &ClientRequest)> {
        self.open.iter()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut ClientRequest> {
        self.open.values_mut()
    }

    /// Removes and returns the request that a response with this id answers: the request with the same id, or
    /// else with the same number as a double.
    pub(crate) fn answer(&mut self, id: &RequestId) -> Option<(RequestId, ClientRequest)> {
        let id = self.open.matching(id)?;
        let request = self.open.remove(&id)?;
        Some((id, request))
    }

    /// Removes the callers that have waited for `limit`. Returns when the remaining caller that has
    /// waited longest began to wait. The requests themselves stay.
    pub(crate) fn take_timed_out(
        &mut self,
        limit: Duration,
        now: Instant,
    ) -> (Vec<oneshot::Sender<Settled>>, Option<Instant>) {
        let is_over = |one: &mut Waiter| now.duration_since(one.since) >= limit;
        let mut timed_out = Vec::new();
        for request in self.open.values_mut() {
            timed_out.extend(request.more.extract_if(.., is_over));
            timed_out.extend(request.waiter.take_if(is_over));
        }
        let oldest = self.open.values().flat_map(ClientRequest::waiters).map(|one| one.since).min();
        (timed_out.into_iter().map(|one| one.sender).collect(), oldest)
    }

    /// Called when the caller of a request stops waiting and follows the log instead: a failure of the request is then
    /// reported in the log.
    pub(crate) fn deliver_to_log(&mut self, id: &RequestId) {
        if let Some(request) = self.open.get_mut(id) {
            request.delivery = Delivery::Log;
        }
    }

    pub(crate) fn take_all(&mut self) -> HashMap<RequestId, ClientRequest> {
        self.open.take_all()
    }

    pub(crate) fn remove(&mut self, id: &RequestId) -> Option<ClientRequest> {
        self.open.remove(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// The memory of ids and entries. Messages and answers are charged elsewhere.
    pub(crate) const fn held_bytes(&self) -> usize {
        self.open.held_bytes()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Answer;

    fn id(json: &str) -> RequestId {
        RequestId::parse(json).unwrap()
    }

    fn new_request() -> ClientRequest {
        ClientRequest::new(Delivery::Wait, None, None, Instant::now())
    }

    fn with(ids: &[&str]) -> ClientRequests {
        let mut requests = ClientRequests::default();
        for json in ids {
            requests.insert(id(json), new_request());
        }
        requests
    }

    #[test]
    fn an_answer_is_matched_by_id_text_and_then_by_double() {
        let mut requests = with(&["12", "\"12\"", "12345678901234567890123"]);
        assert_eq!(requests.answer(&id("\"12\"")).unwrap().0, id("\"12\""));
        assert_eq!(requests.answer(&id("12.0")).unwrap().0, id("12"));
        let rounded = requests.answer(&id("1.2345678901234568e+22")).unwrap().0;
        assert_eq!(rounded.as_json(), "12345678901234567890123");
        assert!(requests.answer(&id("99")).is_none());
    }

    #[test]
    fn every_caller_receives_the_outcome_and_gone_callers_leave_no_trace() {
        let (mut request, now) = (new_request(), Instant::now());
        drop(request.wait(now));
        assert!(request.is_unattended());
        let mut first = request.wait(now);
        let mut second = request.wait(now);
        assert!(!request.is_unattended());
        assert_eq!(request.waiters().count(), 2);
        let answer = Answer::Response(Bytes::from_static(b"x"));
        request.settle(Ok(answer.clone()));
        for receiver in [&mut first, &mut second] {
            assert_eq!(receiver.try_recv().unwrap(), Ok(answer.clone()));
        }
    }

    #[test]
    fn a_caller_that_waited_too_long_is_removed_and_the_request_stays() {
        let mut requests = with(&["1", "2", "3"]);
        let (limit, now) = (Duration::from_secs(10), Instant::now());
        let receivers: Vec<_> =
            ["1", "1", "2"].iter().map(|json| requests.get_mut(&id(json)).unwrap().wait(now)).collect();
        let (timed_out, oldest) = requests.take_timed_out(limit, now);
        assert!(timed_out.is_empty() && oldest.is_some_and(|since| since <= now));
        let (timed_out, oldest) = requests.take_timed_out(limit, now + limit * 2);
        assert_eq!((timed_out.len(), oldest, requests.len()), (3, None, 3));
        drop(receivers);
    }

    #[test]
    fn an_assigned_id_is_one_that_no_waiting_request_has() {
        let mut requests = with(&["1099511627776"]);
        let (first, second) = (requests.free_id(), requests.free_id());
        assert_eq!((first, second), (id("1099511627777"), id("1099511627778")));
    }

    #[test]
    fn a_failure_is_reported_in_the_log_unless_every_caller_still_waits_for_it() {
        let (mut requests, now) = (with(&["1"]), Instant::now());
        let request = requests.get_mut(&id("1")).unwrap();
        assert!(request.is_unattended(), "no caller waits");
        let (first, _second) = (request.wait(now), request.wait(now));
        assert!(!request.is_unattended());
        drop(first);
        assert!(request.is_unattended(), "a caller has left");
        let _third = request.wait(now);
        assert!(!request.is_unattended(), "the third caller took the place of the first");
        requests.deliver_to_log(&id("1"));
        requests.deliver_to_log(&id("2"));
        assert!(requests.get_mut(&id("1")).unwrap().is_unattended(), "the client follows the log");
    }

    #[test]
    fn callers_that_left_do_not_pile_up() {
        let (mut request, now) = (new_request(), Instant::now());
        let _first = request.wait(now);
        for _ in 0..10 {
            drop(request.wait(now));
        }
        let _last = request.wait(now);
        assert_eq!(request.waiters().count(), 2);
    }

    #[test]
    fn a_caller_is_removed_when_the_limit_is_reached_and_not_before() {
        let (mut requests, now) = (with(&["1", "2"]), Instant::now());
        let (limit, second) = (Duration::from_secs(10), Duration::from_secs(1));
        let mut wait = |json, since| requests.get_mut(&id(json)).unwrap().wait(since);
        let _receivers = [wait("1", now), wait("1", now + second * 2), wait("2", now + second)];
        let (timed_out, oldest) = requests.take_timed_out(limit, now + limit);
        assert_eq!((timed_out.len(), oldest), (1, Some(now + second)));
        let (timed_out, oldest) = requests.take_timed_out(limit, now + limit + second);
        assert_eq!((timed_out.len(), oldest), (1, Some(now + second * 2)));
    }

    #[test]
    fn all_requests_are_listed_until_they_are_taken() {
        let mut requests = with(&["1", "2", "3"]);
        assert!(!requests.is_empty() && requests.is_taken(&id("1")) && !requests.is_taken(&id("4")));
        let mut ids: Vec<_> = requests.iter().map(|(id, _)| id.as_json()).collect();
        ids.sort_unstable();
        assert_eq!(ids, ["1", "2", "3"]);
        assert_eq!((requests.values_mut().count(), requests.len()), (3, 3));
        let held = requests.held_bytes();
        assert!(requests.remove(&id("1")).is_some() && requests.remove(&id("1")).is_none());
        assert_eq!(requests.held_bytes(), held / 3 * 2);
        assert_eq!(requests.take_all().len(), 2);
        assert!(requests.is_empty() && requests.held_bytes() == 0);
    }
}

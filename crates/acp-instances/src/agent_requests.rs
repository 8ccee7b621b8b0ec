//! Requests of the agent that wait for an answer of a client. The first answer wins.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use bytes::Bytes;
use event_log::Record;

use crate::request_id::RequestId;
use crate::summary::AgentRequest;

/// How many answered ids are remembered, to tell a second answer from one that the agent never asked for.
const REMEMBERED_ANSWERS: usize = 65_536;

/// Which request of the agent a client's response belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResponseMatch {
    /// It answers an open request.
    Open {
        /// The sequence number of the event that the request was.
        event: u64,
    },
    /// Another client answered the request before.
    AlreadyAnswered,
    /// The agent sent no request with this id. The response is forwarded all the same.
    Unknown,
}

#[derive(Debug)]
struct OpenRequest {
    id: RequestId,
    /// The request itself, once the log no longer holds it.
    retained: Option<Bytes>,
}

/// The agent's unanswered requests, by the sequence number of the event that each one was.
#[derive(Debug, Default)]
pub(crate) struct AgentRequests {
    open: BTreeMap<u64, OpenRequest>,
    by_id: HashMap<RequestId, VecDeque<u64>>,
    answered: HashSet<RequestId>,
    answered_order: VecDeque<RequestId>,
    retained_bytes: usize,
}

impl AgentRequests {
    /// The agent sent a request.
    pub(crate) fn open(&mut self, id: RequestId, event: u64) {
        self.answered.remove(&id);
        self.by_id.entry(id.clone()).or_default().push_back(event);
        self.open.insert(event, OpenRequest { id, retained: None });
    }

    /// Which request a response with this id belongs to.
    pub(crate) fn classify(&self, id: &RequestId) -> ResponseMatch {
        match self.find(id) {
            Some(event) => ResponseMatch::Open { event },
            None if self.answered.contains(id) => ResponseMatch::AlreadyAnswered,
            None => ResponseMatch::Unknown,
        }
    }

    /// Closes the request that was this event: a client answered it. Returns its id.
    pub(crate) fn answer(&mut self, event: u64) -> Option<RequestId> {
        let OpenRequest { id, retained } = self.open.remove(&event)?;
        self.retained_bytes -= retained.map_or(0, |bytes| bytes.len());
        if let Some(events) = self.by_id.get_mut(&id) {
            events.retain(|other| *other != event);
            if events.is_empty() {
                self.by_id.remove(&id);
            }
        }
        if self.answered.insert(id.clone()) {
            self.answered_order.push_back(id.clone());
        }
        while self.answered_order.len() > REMEMBERED_ANSWERS {
            if let Some(oldest) = self.answered_order.pop_front() {
                self.answered.remove(&oldest);
            }
        }
        Some(id)
    }

    /// The log evicts this record. An open request is retained here.
    pub(crate) fn on_evict(&mut self, record: Record<'_>) {
        if record.is_numbered && !self.open.is_empty() {
            self.retain(record.sequence, record.bytes);
        }
    }

    fn retain(&mut self, event: u64, request: &[u8]) {
        let Some(open) = self.open.get_mut(&event) else { return };
        // A copy, since a share would keep the whole chunk alive.
        open.retained = Some(Bytes::copy_from_slice(request));
        self.retained_bytes += request.len();
    }

    /// Drops the oldest retained request, when an agent sends requests without end. Returns how long it was.
    pub(crate) fn drop_oldest_retained(&mut self) -> Option<usize> {
        let event = *self.open.iter().find(|(_, open)| open.retained.is_some())?.0;
        let freed = self.open.get(&event)?.retained.as_ref()?.len();
        self.answer(event);
        Some(freed)
    }

    /// The retained requests behind a sequence number, with their own.
    pub(crate) fn retained_after(&self, sequence: u64) -> impl Iterator<Item = (u64, &Bytes)> {
        self.open
            .range(sequence.saturating_add(1)..)
            .filter_map(|(event, open)| open.retained.as_ref().map(|request| (*event, request)))
    }

    /// All open requests, oldest first.
    pub(crate) fn list(&self) -> Vec<AgentRequest> {
        self.open.iter().map(|(event, open)| AgentRequest { id: open.id.clone(), sequence: *event }).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) const fn retained_bytes(&self) -> usize {
        self.retained_bytes
    }

    /// The process ended: no request waits any more.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    fn find(&self, id: &RequestId) -> Option<u64> {
        let oldest = |events: &VecDeque<u64>| events.front().copied();
        if let Some(event) = self.by_id.get(id).and_then(oldest) {
            return Some(event);
        }
        let double = id.as_double()?;
        let (_, events) = self.by_id.iter().find(|(key, _)| key.as_double() == Some(double))?;
        oldest(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> RequestId {
        RequestId::parse(json).unwrap()
    }

    #[test]
    fn the_first_answer_wins_and_a_new_request_opens_the_id_again() {
        let mut requests = AgentRequests::default();
        assert_eq!(requests.classify(&id("0")), ResponseMatch::Unknown);
        requests.open(id("0"), 7);
        assert_eq!(requests.classify(&id("0.0")), ResponseMatch::Open { event: 7 });
        assert_eq!(requests.answer(7), Some(id("0")));
        assert_eq!(requests.classify(&id("0")), ResponseMatch::AlreadyAnswered);
        requests.open(id("0"), 9);
        assert_eq!(requests.classify(&id("0")), ResponseMatch::Open { event: 9 });
    }

    #[test]
    fn two_open_requests_with_one_id_are_answered_in_turn() {
        let mut requests = AgentRequests::default();
        requests.open(id("1"), 1);
        requests.open(id("1"), 2);
        requests.answer(1);
        assert_eq!(requests.classify(&id("1")), ResponseMatch::Open { event: 2 });
        requests.answer(2);
        assert_eq!(requests.classify(&id("1")), ResponseMatch::AlreadyAnswered);
    }

    #[test]
    fn an_evicted_request_is_retained_until_it_is_answered() {
        let mut requests = AgentRequests::default();
        requests.open(id("1"), 5);
        requests.open(id("2"), 6);
        requests.retain(5, b"five");
        requests.retain(99, b"not a request");
        assert_eq!(requests.retained_bytes(), 4);
        assert_eq!(requests.retained_after(4).map(|(event, _)| event).collect::<Vec<_>>(), [5]);
        assert_eq!(requests.retained_after(5).count(), 0);
        requests.answer(5);
        assert_eq!((requests.retained_after(0).count(), requests.retained_bytes()), (0, 0));
    }
}

//! Requests from the agent that wait for a client's answer. The first answer wins.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use event_log::{MemoryAccount, Record, charged};

use crate::id_map::IdMap;
use crate::request_id::RequestId;
use crate::summary::AgentRequest;

/// How much memory the ids of answered requests may take: enough for about ten thousand short ids. They are
/// kept to tell a second answer to a request from an answer to a request that the agent never sent.
const REMEMBERED_BYTES: usize = 1 << 20;
/// How many open requests of one agent are tracked. Beyond that, the oldest one is forgotten; a client's
/// answer to it is still forwarded.
const MAX_OPEN: usize = 4096;
/// The most open requests that the summary of an instance lists, oldest first.
const LISTED: usize = 256;
/// How much memory an open request takes besides its id: its entries in both tables.
const OPEN_OVERHEAD: usize = size_of::<(u64, OpenRequest)>() + 64;
/// How much memory a remembered id takes besides its text: its entries in both tables.
const REMEMBERED_OVERHEAD: usize = 2 * size_of::<(RequestId, u64)>() + 64;

/// Which agent request a client's response belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResponseMatch {
    /// The response answers an open request.
    Open {
        /// The sequence number of the event that carried the request.
        event: u64,
    },
    /// An earlier response has already answered the request.
    AlreadyAnswered,
    /// The agent sent no request with this id. The response is forwarded anyway.
    Unknown,
}

#[derive(Debug)]
struct OpenRequest {
    id: RequestId,
    /// When the agent sent the request.
    since: Instant,
    /// A copy of the request, once the log no longer holds it.
    retained: Option<Bytes>,
}

/// The agent's unanswered requests, keyed by the sequence number of the event that carried each one.
#[derive(Debug)]
pub(crate) struct AgentRequests {
    account: Arc<MemoryAccount>,
    open: BTreeMap<u64, OpenRequest>,
    by_id: IdMap<VecDeque<u64>>,
    answered: AnsweredIds,
    retained_bytes: usize,
}

impl AgentRequests {
    pub(crate) fn new(account: Arc<MemoryAccount>) -> Self {
        let (open, by_id, answered) = (BTreeMap::new(), IdMap::default(), AnsweredIds::default());
        Self { account, open, by_id, answered, retained_bytes: 0 }
    }

    /// Records a request that the agent sent.
    pub(crate) fn open(&mut self, id: RequestId, event: u64, since: Instant) {
        self.answered.forget(&id);
        match self.by_id.get_mut(&id) {
            Some(events) => events.push_back(event),
            None => self.by_id.insert(id.clone(), VecDeque::from([event])),
        }
        self.open.insert(event, OpenRequest { id, since, retained: None });
        while self.open.len() > MAX_OPEN {
            let Some(oldest) = self.open.keys().next().copied() else { return };
            self.close(oldest);
        }
    }

    /// Finds the request that a response with this id belongs to.
    pub(crate) fn classify(&self, id: &RequestId) -> ResponseMatch {
        match self.find(id) {
            Some(event) => ResponseMatch::Open { event },
            None if self.answered.contains(id) => ResponseMatch::AlreadyAnswered,
            None => ResponseMatch::Unknown,
        }
    }

    /// Closes the request with the sequence number `event`, because a client answered it. Returns the request's
    /// id and when the agent sent it.
    pub(crate) fn answer(&mut self, event: u64) -> Option<(RequestId, Instant)> {
        let (id, since) = self.close(event)?;
        self.answered.remember(id.clone());
        Some((id, since))
    }

    /// Stops tracking a request. Returns its id and when the agent sent it.
    fn close(&mut self, event: u64) -> Option<(RequestId, Instant)> {
        let OpenRequest { id, since, retained } = self.open.remove(&event)?;
        self.retained_bytes -= retained.map_or(0, |bytes| bytes.len());
        if let Some(events) = self.by_id.get_mut(&id) {
            events.retain(|other| *other != event);
            if events.is_empty() {
                self.by_id.remove(&id);
            }
        }
        Some((id, since))
    }

    /// Called when the log evicts a record. If the record is an open request, keeps a copy of it here.
    pub(crate) fn on_evict(&mut self, record: Record<'_>) {
        if record.is_numbered && !self.open.is_empty() {
            self.retain(record.sequence, record.bytes);
        }
    }

    fn retain(&mut self, event: u64, request: &[u8]) {
        let Some(open) = self.open.get_mut(&event) else { return };
        // A copy, since a shared slice would keep the log's whole chunk in memory. It is charged for as long as anything
        // holds it: the readers that it is given to share it.
        open.retained = Some(charged(Bytes::copy_from_slice(request), &self.account));
        self.retained_bytes += request.len();
    }

    /// Drops the oldest retained request, to bound the memory that an agent can take by sending requests
    /// forever. Returns the length of that request.
    pub(crate) fn drop_oldest_retained(&mut self) -> Option<usize> {
        let event = *self.open.iter().find(|(_, open)| open.retained.is_some())?.0;
        let freed = self.open.get(&event)?.retained.as_ref()?.len();
        self.close(event);
        Some(freed)
    }

    /// The retained requests between two sequence numbers, each with its own sequence number.
    pub(crate) fn retained_between(&self, after: u64, before: u64) -> impl Iterator<Item = (u64, &Bytes)> {
        self.open
            .range(after.saturating_add(1)..before.max(after.saturating_add(1)))
            .filter_map(|(event, open)| open.retained.as_ref().map(|request| (*event, request)))
    }

    /// The open requests that an instance's summary lists, oldest first.
    pub(crate) fn list(&self) -> Vec<AgentRequest> {
        self.open
            .iter()
            .take(LISTED)
            .map(|(event, open)| AgentRequest { id: open.id.clone(), sequence: *event })
            .collect()
    }

    /// Every open request's id and event, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RequestId, u64)> {
        self.open.iter().map(|(event, open)| (&open.id, *event))
    }

    /// True if the request that this event carried is still open.
    pub(crate) fn has(&self, event: u64) -> bool {
        self.open.contains_key(&event)
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) const fn retained_bytes(&self) -> usize {
        self.retained_bytes
    }

    /// The memory of ids and entries. Retained requests are charged by themselves.
    pub(crate) fn held_bytes(&self) -> usize {
        self.open.len() * OPEN_OVERHEAD + self.by_id.held_bytes() + self.answered.held_bytes()
    }

    /// Forgets everything. Called when the agent's process has ended, so no request can wait any longer.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(Arc::clone(&self.account));
    }

    fn find(&self, id: &RequestId) -> Option<u64> {
        let id = self.by_id.matching(id)?;
        self.by_id.get(&id)?.front().copied()
    }
}

/// The ids of the most recently answered requests.
#[derive(Debug, Default)]
struct AnsweredIds {
    /// Each id with the number of its newest entry in `order`.
    ids: HashMap<RequestId, u64>,
    /// Oldest first. When an id is forgotten or remembered again, its old entry stays in this queue and is
    /// ignored.
    order: VecDeque<(RequestId, u64)>,
    next: u64,
    bytes: usize,
}

impl AnsweredIds {
    fn contains(&self, id: &RequestId) -> bool {
        self.ids.contains_key(id)
    }

    fn remember(&mut self, id: RequestId) {
        self.bytes += REMEMBERED_OVERHEAD + id.held_bytes();
        self.ids.insert(id.clone(), self.next);
        self.order.push_back((id, self.next));
        self.next += 1;
        while self.bytes > REMEMBERED_BYTES {
            let Some((oldest, number)) = self.order.pop_front() else { return };
            self.bytes -= REMEMBERED_OVERHEAD + oldest.held_bytes();
            if self.ids.get(&oldest) == Some(&number) {
                self.ids.remove(&oldest);
            }
        }
    }

    fn forget(&mut self, id: &RequestId) {
        self.ids.remove(id);
    }

    const fn held_bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> RequestId {
        RequestId::parse(json).unwrap()
    }

    fn new_requests() -> AgentRequests {
        AgentRequests::new(MemoryAccount::new(0))
    }

    #[test]
    fn the_first_answer_wins_and_a_new_request_opens_the_id_again() {
        let mut requests = new_requests();
        assert_eq!(requests.classify(&id("0")), ResponseMatch::Unknown);
        requests.open(id("0"), 7, Instant::now());
        assert_eq!(requests.classify(&id("0.0")), ResponseMatch::Open { event: 7 });
        assert_eq!(requests.answer(7).map(|(id, _)| id), Some(id("0")));
        assert_eq!(requests.classify(&id("0")), ResponseMatch::AlreadyAnswered);
        requests.open(id("0"), 9, Instant::now());
        assert_eq!(requests.classify(&id("0")), ResponseMatch::Open { event: 9 });
    }

    #[test]
    fn two_open_requests_with_one_id_are_answered_in_turn() {
        let mut requests = new_requests();
        requests.open(id("1"), 1, Instant::now());
        requests.open(id("1"), 2, Instant::now());
        requests.answer(1);
        assert_eq!(requests.classify(&id("1")), ResponseMatch::Open { event: 2 });
        requests.answer(2);
        assert_eq!(requests.classify(&id("1")), ResponseMatch::AlreadyAnswered);
    }

    #[test]
    fn memory_is_bounded_whatever_the_agent_sends() {
        let mut requests = new_requests();
        let long = |n: u64| id(&format!("\"{n}{}\"", "x".repeat(4000)));
        for event in 0..10_000 {
            requests.open(long(event), event, Instant::now());
        }
        assert_eq!((requests.len(), requests.list().len()), (MAX_OPEN, LISTED));
        assert_eq!(requests.classify(&long(0)), ResponseMatch::Unknown, "its answer is forwarded");
        assert!(requests.held_bytes() > MAX_OPEN * 4000 && requests.held_bytes() < MAX_OPEN * 4500);
        for event in 0..10_000 {
            requests.answer(event);
        }
        assert_eq!(requests.len(), 0);
        assert!(requests.held_bytes() <= REMEMBERED_BYTES);
        assert_eq!(requests.classify(&long(9_999)), ResponseMatch::AlreadyAnswered);
        requests.clear();
        assert_eq!(requests.held_bytes(), 0);
    }

    #[test]
    fn an_id_that_is_used_again_and_again_stays_remembered() {
        let mut requests = new_requests();
        for event in 0..20_000 {
            requests.open(id("1"), event, Instant::now());
            requests.answer(event);
        }
        assert_eq!(requests.classify(&id("1")), ResponseMatch::AlreadyAnswered);
        assert!(requests.held_bytes() <= REMEMBERED_BYTES);
    }

    #[test]
    fn an_evicted_request_is_retained_until_it_is_answered() {
        let mut requests = new_requests();
        requests.open(id("1"), 5, Instant::now());
        requests.open(id("2"), 6, Instant::now());
        requests.retain(5, b"five");
        requests.retain(99, b"not a request");
        assert_eq!((requests.retained_bytes(), requests.account.used()), (4, 4));
        assert_eq!(requests.retained_between(4, 9).map(|(event, _)| event).collect::<Vec<_>>(), [5]);
        assert_eq!(
            (requests.retained_between(5, 9).count(), requests.retained_between(0, 5).count()),
            (0, 0)
        );
        assert_eq!(requests.retained_between(9, 4).count(), 0);
        let read = requests.retained_between(0, u64::MAX).next().unwrap().1.clone();
        requests.answer(5);
        assert_eq!((requests.retained_between(0, u64::MAX).count(), requests.retained_bytes()), (0, 0));
        assert_eq!(requests.account.used(), 4, "a reader holds it");
        drop(read);
        assert_eq!(requests.account.used(), 0);
    }

    #[test]
    fn only_an_evicted_event_that_carried_a_request_is_retained() {
        let mut requests = new_requests();
        let record = |sequence, is_numbered| Record {
            order: 1,
            sequence,
            is_numbered,
            at_ms: 0,
            tag: event_log::Tag(0),
            mark: 0,
            bytes: b"request",
        };
        requests.on_evict(record(5, true));
        requests.open(id("1"), 5, Instant::now());
        requests.on_evict(record(5, false));
        requests.on_evict(record(6, true));
        assert_eq!(requests.retained_bytes(), 0);
        requests.on_evict(record(5, true));
        assert_eq!(
            requests.retained_between(0, 9).collect::<Vec<_>>(),
            [(5, &Bytes::from_static(b"request"))]
        );
    }

    #[test]
    fn the_oldest_retained_request_is_dropped_first() {
        let mut requests = new_requests();
        for event in 1..=4 {
            requests.open(RequestId::number(event), event, Instant::now());
        }
        requests.retain(2, b"two");
        requests.retain(4, b"four");
        assert_eq!((requests.retained_bytes(), requests.drop_oldest_retained()), (7, Some(3)));
        assert!(requests.has(1) && !requests.has(2) && requests.has(3));
        assert_eq!((requests.retained_bytes(), requests.len()), (4, 3));
        assert_eq!(requests.classify(&id("2")), ResponseMatch::Unknown, "its answer is forwarded");
        assert_eq!((requests.drop_oldest_retained(), requests.drop_oldest_retained()), (Some(4), None));
        assert_eq!((requests.retained_bytes(), requests.len()), (0, 2));
    }

    #[test]
    fn open_requests_are_listed_oldest_first() {
        let (mut requests, since) = (new_requests(), Instant::now());
        requests.open(id("\"b\""), 7, since);
        requests.open(id("\"a\""), 9, since);
        let listed: Vec<_> =
            requests.list().into_iter().map(|request| (request.id, request.sequence)).collect();
        assert_eq!(listed, [(id("\"b\""), 7), (id("\"a\""), 9)]);
        let all: Vec<_> = requests.iter().map(|(id, event)| (id.clone(), event)).collect();
        assert_eq!(all, listed);
        assert_eq!((requests.answer(8), requests.answer(7)), (None, Some((id("\"b\""), since))));
        requests.clear();
        assert_eq!((requests.len(), requests.classify(&id("\"a\""))), (0, ResponseMatch::Unknown));
    }

    #[test]
    fn requests_and_remembered_ids_are_counted() {
        let mut requests = new_requests();
        let long = id(&format!("\"{}\"", "x".repeat(1000)));
        requests.open(long.clone(), 1, Instant::now());
        requests.open(id("2"), 2, Instant::now());
        let ids = requests.by_id.held_bytes();
        assert!(ids > long.held_bytes());
        assert_eq!(requests.held_bytes(), 2 * OPEN_OVERHEAD + ids);
        requests.answer(1);
        requests.answer(2);
        assert_eq!(requests.held_bytes(), 2 * REMEMBERED_OVERHEAD + long.held_bytes());
    }

    #[test]
    fn remembered_ids_are_forgotten_oldest_first() {
        let mut answered = AnsweredIds::default();
        let fits = u64::try_from(REMEMBERED_BYTES / REMEMBERED_OVERHEAD).unwrap();
        for number in 0..fits {
            answered.remember(RequestId::number(number));
        }
        assert!(answered.contains(&id("0")) && answered.bytes <= REMEMBERED_BYTES);
        answered.remember(RequestId::number(fits));
        assert!(!answered.contains(&id("0")) && answered.contains(&id("1")));
        // Remembered again, number 1 is the newest.
        answered.remember(id("1"));
        answered.remember(RequestId::number(fits + 1));
        assert!(answered.contains(&id("1")) && !answered.contains(&id("2")));
        assert_eq!(answered.held_bytes(), answered.order.len() * REMEMBERED_OVERHEAD);
        answered.forget(&id("1"));
        assert!(!answered.contains(&id("1")));
    }
}

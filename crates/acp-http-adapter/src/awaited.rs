//! Requests of the agent that wait for a client. The first answer wins.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use bytes::Bytes;

use crate::log::{Entry, EventKind};
use crate::request_id::RequestId;

/// How many answered ids are remembered, to tell a late second answer from one nobody asked for.
const REMEMBERED_ANSWERS: usize = 65_536;

/// What to do with a client's response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It answers this open request of the agent.
    Answers {
        /// The event that the request was.
        event: u64,
    },
    /// Somebody was faster.
    TooLate,
    /// The agent never asked; that is between the two of them.
    Unasked,
}

#[derive(Debug)]
struct Awaited {
    id: RequestId,
    /// The request itself, once the log no longer holds it.
    aside: Option<Bytes>,
}

/// The agent's unanswered requests, by the number of the event that each one was.
#[derive(Debug, Default)]
pub(crate) struct AwaitedRequests {
    open: BTreeMap<u64, Awaited>,
    by_id: HashMap<RequestId, VecDeque<u64>>,
    answered: HashSet<RequestId>,
    answered_order: VecDeque<RequestId>,
    aside_bytes: usize,
}

impl AwaitedRequests {
    /// The agent asks.
    pub(crate) fn ask(&mut self, id: RequestId, event: u64) {
        self.answered.remove(&id);
        self.by_id.entry(id.clone()).or_default().push_back(event);
        self.open.insert(event, Awaited { id, aside: None });
    }

    /// What a response with this id would do. Changes nothing.
    pub(crate) fn judge(&self, id: &RequestId) -> Verdict {
        match self.find(id) {
            Some(event) => Verdict::Answers { event },
            None if self.answered.contains(id) => Verdict::TooLate,
            None => Verdict::Unasked,
        }
    }

    /// A client answers the request that was this event. Returns the id as the agent wrote it.
    pub(crate) fn answer(&mut self, event: u64) -> Option<RequestId> {
        let Awaited { id, aside } = self.open.remove(&event)?;
        self.aside_bytes -= aside.map_or(0, |bytes| bytes.len());
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

    /// The log is about to forget this event; if it is an open request, it is kept here.
    pub(crate) fn last_look(&mut self, entry: Entry<'_>) {
        if entry.kind == EventKind::Message && !self.open.is_empty() {
            self.set_aside(entry.sequence, entry.data);
        }
    }

    fn set_aside(&mut self, event: u64, data: &[u8]) {
        let Some(awaited) = self.open.get_mut(&event) else { return };
        // A copy, since a slice would keep alive everything that came with it.
        awaited.aside = Some(Bytes::copy_from_slice(data));
        self.aside_bytes += data.len();
    }

    /// Lets go of the oldest request kept here, when an agent asks without end. Returns what that frees.
    pub(crate) fn forget_oldest_aside(&mut self) -> Option<usize> {
        let event = *self.open.iter().find(|(_, awaited)| awaited.aside.is_some())?.0;
        let freed = self.open.get(&event)?.aside.as_ref()?.len();
        self.answer(event);
        Some(freed)
    }

    /// The requests that the log no longer holds and that a reader at `after` has missed.
    pub(crate) fn missed(&self, after: u64) -> impl Iterator<Item = (u64, &Bytes)> {
        self.open
            .range(after.saturating_add(1)..)
            .filter_map(|(event, awaited)| awaited.aside.as_ref().map(|data| (*event, data)))
    }

    /// All open requests: id and event.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RequestId, u64)> {
        self.open.iter().map(|(event, awaited)| (&awaited.id, *event))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) const fn aside_bytes(&self) -> usize {
        self.aside_bytes
    }

    /// The process ended: nobody waits any more.
    pub(crate) fn clear(&mut self) -> usize {
        let freed = self.aside_bytes;
        *self = Self::default();
        freed
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
    fn the_first_answer_wins_and_a_new_question_opens_the_id_again() {
        let mut awaited = AwaitedRequests::default();
        assert_eq!(awaited.judge(&id("0")), Verdict::Unasked);
        awaited.ask(id("0"), 7);
        assert_eq!(awaited.judge(&id("0.0")), Verdict::Answers { event: 7 });
        assert_eq!(awaited.answer(7), Some(id("0")));
        assert_eq!(awaited.judge(&id("0")), Verdict::TooLate);
        awaited.ask(id("0"), 9);
        assert_eq!(awaited.judge(&id("0")), Verdict::Answers { event: 9 });
    }

    #[test]
    fn two_open_requests_with_one_id_are_answered_in_turn() {
        let mut awaited = AwaitedRequests::default();
        awaited.ask(id("1"), 1);
        awaited.ask(id("1"), 2);
        awaited.answer(1);
        assert_eq!(awaited.judge(&id("1")), Verdict::Answers { event: 2 });
        awaited.answer(2);
        assert_eq!(awaited.judge(&id("1")), Verdict::TooLate);
    }

    #[test]
    fn a_forgotten_request_is_given_to_those_who_missed_it_only() {
        let mut awaited = AwaitedRequests::default();
        awaited.ask(id("1"), 5);
        awaited.ask(id("2"), 6);
        awaited.set_aside(5, b"five");
        awaited.set_aside(99, b"nobody");
        assert_eq!(awaited.aside_bytes(), 4);
        assert_eq!(awaited.missed(4).map(|(event, _)| event).collect::<Vec<_>>(), [5]);
        assert_eq!(awaited.missed(5).count(), 0);
        awaited.answer(5);
        assert_eq!((awaited.missed(0).count(), awaited.aside_bytes()), (0, 0));
    }
}

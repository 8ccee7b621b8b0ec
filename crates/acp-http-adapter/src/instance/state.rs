//! Everything of an instance that is guarded by its one lock, and the rules that change it.
//!
//! No I/O and no waiting in here: each method is a short step under the lock. What must be told to waiting
//! clients is returned, to be told after the lock is released.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http_edge::{Code, Problem};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::awaited::{AwaitedRequests, Verdict};
use crate::budget::{MemoryBudget, Reservation};
use crate::clock::now_ms;
use crate::envelope::Envelope;
use crate::exit_record::{EndCause, ExitRecord};
use crate::idempotency::{IdempotencyKey, Memory, RememberedKeys};
use crate::limits::Limits;
use crate::log::{EventKind, EventLog, Slot};
use crate::pending::{Delivery, Outcome, PendingRequest, PendingRequests, Waiter};
use crate::request_id::RequestId;

/// Where an instance is in its life.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Being installed or started; messages queue up.
    Starting,
    /// The process runs.
    Running,
    /// Being closed; nothing more is taken.
    Closing,
    /// The process ended; the past is still there.
    Exited(ExitRecord),
    /// Out of the registry; only its last readers still hold it.
    Gone(ExitRecord),
}

/// A line on its way to the agent.
#[derive(Debug)]
pub(crate) struct QueuedLine {
    pub(crate) bytes: Bytes,
    /// The request it is, to be failed if it cannot be written.
    pub(crate) request: Option<RequestId>,
    /// Its place in the bounded queue and in the memory budget, given back when it is written.
    pub(crate) _room: OwnedSemaphorePermit,
    pub(crate) _memory: Reservation,
}

/// A client's message that passed all checks on its own.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// The message with its line feed.
    pub(crate) line: Bytes,
    pub(crate) envelope: Envelope,
    pub(crate) delivery: Delivery,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) memory: Reservation,
}

/// What came of a message.
#[derive(Debug)]
pub(crate) enum Admission {
    /// In the queue; nothing to wait for.
    Accepted,
    /// In the queue; the outcome comes here.
    Waiting(RequestId, Waiter),
    /// In the queue of an agent that is not up yet; whether it comes up is told here.
    Starting(Waiter),
    /// It was here before, and ended so.
    Settled(Outcome),
    /// It was here before, and is still waiting for room.
    Arriving(Box<Incoming>),
    /// The queue is full.
    NoRoom(Box<Incoming>),
}

/// The agent's side of one batch: lines that came together, framed.
#[derive(Debug)]
pub(crate) struct Heard {
    /// The frames, one behind the other.
    pub(crate) frames: Bytes,
    /// Where each stands.
    pub(crate) slots: Vec<Slot>,
    /// Those that are requests or responses, by their place among the slots. Most lines are neither.
    pub(crate) calls: Vec<(usize, Envelope)>,
}

/// Outcomes to hand out once the lock is released.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct Settlements(Vec<(PendingRequest, Outcome)>, Vec<(oneshot::Sender<Outcome>, Outcome)>);

impl Settlements {
    pub(crate) fn deliver(self) {
        for (request, outcome) in self.0 {
            request.settle(outcome);
        }
        for (sender, outcome) in self.1 {
            let _ = sender.send(outcome);
        }
    }
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    pub(crate) pid: Option<u32>,
    pub(crate) log: EventLog,
    pub(crate) pending: PendingRequests,
    pub(crate) awaited: AwaitedRequests,
    pub(crate) keys: RememberedKeys,
    pub(crate) queue: VecDeque<QueuedLine>,
    pub(crate) last_activity_ms: u64,
    /// Whether a timer runs for those who wait.
    pub(crate) overdue_watched: bool,
    /// Those who wait to hear whether the process starts.
    start_waiters: Vec<oneshot::Sender<Outcome>>,
    /// Set once the agent no longer takes input.
    input_failure: Option<Problem>,
    budget: Arc<MemoryBudget>,
    /// What is charged to the budget for requests and answers kept beside the log.
    charged: usize,
    max_pending: usize,
    max_aside_bytes: usize,
}

impl State {
    pub(crate) fn new(log: EventLog, budget: Arc<MemoryBudget>, limits: &Limits) -> Self {
        Self {
            phase: Phase::Starting,
            pid: None,
            log,
            pending: PendingRequests::default(),
            awaited: AwaitedRequests::default(),
            keys: RememberedKeys::new(limits.idempotency_keys, limits.replay_bytes / 4),
            queue: VecDeque::new(),
            last_activity_ms: now_ms(),
            overdue_watched: false,
            start_waiters: Vec::new(),
            input_failure: None,
            budget,
            charged: 0,
            max_pending: limits.max_pending,
            max_aside_bytes: limits.replay_bytes,
        }
    }

    /// Takes a message in, or says why not. `take_room` gets a place in the queue if there is one.
    pub(crate) fn admit(
        &mut self,
        incoming: Incoming,
        take_room: impl FnOnce() -> Option<OwnedSemaphorePermit>,
    ) -> Result<Admission, Problem> {
        if let Phase::Closing | Phase::Gone(_) = self.phase {
            return Err(self.refusal());
        }
        if let Some(admission) = self.recall(&incoming)? {
            return Ok(match admission {
                Recalled::Known(admission) => admission,
                Recalled::Arriving => Admission::Arriving(Box::new(incoming)),
            });
        }
        self.check(&incoming.envelope)?;
        let Some(room) = take_room() else { return Ok(Admission::NoRoom(Box::new(incoming))) };
        Ok(self.commit(incoming, room))
    }

    /// Whether a message may go in now, apart from room for it.
    fn check(&self, envelope: &Envelope) -> Result<(), Problem> {
        if let Phase::Exited(_) = self.phase {
            return Err(self.refusal());
        }
        if let Some(problem) = &self.input_failure {
            return Err(problem.clone());
        }
        match envelope {
            Envelope::Request(id) if self.pending.is_taken(id) => Err(Problem::new(
                Code::DuplicateRequestId,
                format!("a request with id {} still waits for its answer; use a new id", id.as_json()),
            )),
            Envelope::Request(_) if self.pending.len() >= self.max_pending => Err(Problem::new(
                Code::TooManyPending,
                format!(
                    "{} requests wait for this agent already; try again when some are answered",
                    self.pending.len()
                ),
            )
            .retry_after(1)),
            Envelope::Response(id) if self.awaited.judge(id) == Verdict::TooLate => Err(Problem::new(
                Code::AlreadyAnswered,
                format!("request {} of the agent was answered before; the first answer stands", id.as_json()),
            )),
            _ => Ok(()),
        }
    }

    fn commit(&mut self, incoming: Incoming, room: OwnedSemaphorePermit) -> Admission {
        let Incoming { line, envelope, delivery, key, memory } = incoming;
        let now = now_ms();
        self.last_activity_ms = now;
        self.log.append_sent(&line, now);
        let mut request = None;
        let admission = match envelope {
            // Null is what agents use for parse errors, so no answer could be told from one.
            Envelope::Request(id) if !id.is_null() => {
                self.remember(key.as_ref(), || Memory::Open(id.clone()));
                let mut waiting = PendingRequest::new(delivery, key);
                let waiter = (delivery == Delivery::Waited).then(|| waiting.wait());
                self.pending.insert(id.clone(), waiting);
                request = Some(id.clone());
                waiter.map_or(Admission::Accepted, |waiter| Admission::Waiting(id, waiter))
            }
            envelope => {
                if let Envelope::Response(id) = envelope {
                    self.answer(&id, now);
                }
                self.remember(key.as_ref(), || Memory::Accepted);
                self.accepted(delivery)
            }
        };
        self.queue.push_back(QueuedLine { bytes: line, request, _room: room, _memory: memory });
        self.settle_account();
        admission
    }

    /// What a message without an answer is told: 202 at once, or once the agent is up.
    fn accepted(&mut self, delivery: Delivery) -> Admission {
        if matches!(self.phase, Phase::Starting) && delivery == Delivery::Waited {
            let (sender, receiver) = oneshot::channel();
            self.start_waiters.push(sender);
            return Admission::Starting(receiver);
        }
        Admission::Accepted
    }

    fn answer(&mut self, id: &RequestId, now: u64) {
        if let Verdict::Answers { event } = self.awaited.judge(id)
            && let Some(id) = self.awaited.answer(event)
        {
            let data = format!(r#"{{"id":{},"event":{event}}}"#, id.as_json());
            self.note(EventKind::Answered, &data, now);
        }
    }

    fn recall(&mut self, incoming: &Incoming) -> Result<Option<Recalled>, Problem> {
        let Some(key) = &incoming.key else { return Ok(None) };
        Ok(Some(match self.keys.recall(key)?.cloned() {
            None => return Ok(None),
            Some(Memory::Arriving) => Recalled::Arriving,
            Some(Memory::Accepted) => Recalled::Known(self.accepted(incoming.delivery)),
            Some(Memory::Settled(outcome)) => Recalled::Known(Admission::Settled(outcome)),
            Some(Memory::Open(id)) => Recalled::Known(match self.pending.get_mut(&id) {
                Some(_) if incoming.delivery == Delivery::OnStream => {
                    self.pending.mark_on_stream(&id);
                    Admission::Accepted
                }
                Some(request) => Admission::Waiting(id, request.wait()),
                None => Admission::Accepted,
            }),
            Some(Memory::Gone) => {
                return Err(Problem::new(
                    Code::OutcomeGone,
                    "the agent answered this message, but the answer is no longer held; it was on the stream",
                ));
            }
        }))
    }

    /// Notes that a message with a key waits for room.
    pub(crate) fn mark_arriving(&mut self, key: Option<&IdempotencyKey>) {
        self.remember(key, || Memory::Arriving);
    }

    /// The message with this key did not get in; it may be sent again.
    pub(crate) fn forget_arriving(&mut self, key: Option<&IdempotencyKey>) {
        if let Some(key) = key {
            self.keys.forget(key);
        }
    }

    fn remember(&mut self, key: Option<&IdempotencyKey>, memory: impl FnOnce() -> Memory) {
        if let Some(key) = key {
            self.keys.remember(key, memory());
        }
    }

    /// Takes in what the agent said.
    pub(crate) fn hear(&mut self, heard: Heard) -> Settlements {
        let Heard { frames, slots, calls } = heard;
        let now = now_ms();
        self.last_activity_ms = now;
        let mut settlements = Settlements(Vec::with_capacity(calls.len()), Vec::new());
        for (index, envelope) in calls {
            let slot = slots[index];
            match envelope {
                Envelope::Request(id) if !id.is_null() => {
                    self.awaited.ask(id, self.log.next_sequence - 1 + u64::from(slot.numbered));
                }
                Envelope::Response(id) => {
                    if let Some((_, request)) = self.pending.answer(&id) {
                        let outcome = Outcome::Answer(frames.slice(slot.data()));
                        self.remember(request.key.as_ref(), || Memory::Settled(outcome.clone()));
                        settlements.0.push((request, outcome));
                    }
                }
                Envelope::Request(_) | Envelope::Notification => {}
            }
        }
        let awaited = &mut self.awaited;
        self.log.append(frames, &slots, now, |entry| awaited.last_look(entry));
        self.bound_aside();
        settlements
    }

    /// Appends an event of the server's own to the log.
    fn note(&mut self, kind: EventKind, data: &str, now: u64) -> u64 {
        let awaited = &mut self.awaited;
        let event = self.log.append_one(kind, data.as_bytes(), now, |entry| awaited.last_look(entry));
        self.bound_aside();
        event
    }

    /// Forgets some of the past, oldest first.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let awaited = &mut self.awaited;
        self.log.shrink(bytes, |entry| awaited.last_look(entry));
        self.bound_aside();
    }

    /// Requests of the agent that nobody has answered outlive the log, within bounds.
    fn bound_aside(&mut self) {
        // Only an agent that asks without end gets here; memory without bound would be worse.
        while self.awaited.aside_bytes() > self.max_aside_bytes
            && self.awaited.forget_oldest_aside().is_some()
        {}
        self.settle_account();
    }

    fn settle_account(&mut self) {
        let held = self.awaited.aside_bytes() + self.keys.held_bytes();
        if held != self.charged {
            self.budget.exchange(self.charged, held);
            self.charged = held;
        }
    }

    /// The process is up.
    pub(crate) fn started(&mut self, pid: u32) -> Settlements {
        self.phase = Phase::Running;
        self.pid = Some(pid);
        self.input_failure = None;
        let waiters = std::mem::take(&mut self.start_waiters);
        let up = || Outcome::Answer(Bytes::new());
        Settlements(Vec::new(), waiters.into_iter().map(|waiter| (waiter, up())).collect())
    }

    /// A new process is coming up under the same id.
    pub(crate) fn restart(&mut self) {
        self.phase = Phase::Starting;
        self.last_activity_ms = now_ms();
    }

    /// The agent no longer takes input: what was not written is failed, and so is whatever comes.
    pub(crate) fn input_failed(&mut self, unwritten: Vec<QueuedLine>, reason: &str) -> Settlements {
        let problem = Problem::new(
            Code::WriteFailed,
            format!(
                "the agent no longer reads its input ({reason}); DELETE the instance and start a new one"
            ),
        );
        self.input_failure = Some(problem.clone());
        let lost: Vec<_> = unwritten.into_iter().chain(self.queue.drain(..)).collect();
        let mut settlements = Settlements::default();
        for id in lost.into_iter().filter_map(|line| line.request) {
            if let Some(request) = self.pending.remove(&id) {
                self.fail(&id, request, &problem, &mut settlements);
            }
        }
        settlements
    }

    /// Fails every waiting request at once, as when the server shuts down.
    pub(crate) fn fail_all(&mut self, problem: &Problem) -> Settlements {
        let mut settlements = Settlements::default();
        for (id, request) in self.pending.take_all() {
            self.fail(&id, request, problem, &mut settlements);
        }
        for waiter in std::mem::take(&mut self.start_waiters) {
            settlements.1.push((waiter, Outcome::Failed(problem.clone())));
        }
        settlements
    }

    fn fail(&mut self, id: &RequestId, request: PendingRequest, problem: &Problem, into: &mut Settlements) {
        if request.is_unattended() {
            let data = format!(r#"{{"id":{},"problem":{}}}"#, id.as_json(), problem.to_json());
            self.note(EventKind::Failed, &data, now_ms());
        }
        let outcome = Outcome::Failed(problem.clone());
        self.remember(request.key.as_ref(), || Memory::Settled(outcome.clone()));
        into.0.push((request, outcome));
    }

    /// The process is no more: settles everything, and says so on the stream.
    pub(crate) fn end(&mut self, cause: EndCause, stderr_tail: String, then: Then) -> Settlements {
        let mut record = ExitRecord { cause, stderr_tail, event: self.log.next_sequence };
        self.queue.clear();
        self.awaited.clear();
        self.pid = None;
        self.input_failure = None;
        let settlements = self.fail_all(&record.to_problem());
        record.event = self.note(EventKind::Exit, &record.to_json(), now_ms());
        self.phase = match then {
            Then::StayListed => Phase::Exited(record),
            Then::Leave => Phase::Gone(record),
        };
        settlements
    }

    /// Why nothing is taken in any more.
    pub(crate) fn refusal(&self) -> Problem {
        match &self.phase {
            Phase::Exited(record) => record.to_problem(),
            Phase::Gone(ExitRecord { cause: EndCause::NotStarted(problem), .. }) => problem.clone(),
            Phase::Closing | Phase::Gone(_) | Phase::Starting | Phase::Running => Problem::new(
                Code::InstanceClosing,
                "the instance is being closed; wait for the DELETE to answer, then start a new one",
            ),
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.budget.refund(self.charged);
    }
}

enum Recalled {
    Known(Admission),
    Arriving,
}

/// What becomes of an instance whose process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It stays listed and can be replayed.
    StayListed,
    /// It leaves the registry.
    Leave,
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;

//! The state of an instance that its one lock guards, and the rules that change it.
//!
//! No I/O and no waiting: each method is a short step under the lock. Methods return the outcomes for waiting
//! callers, and the caller delivers them after releasing the lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use event_log::{Batch, Log, MemoryAccount, Reservation, Run};
use process_supervisor::SupervisorId;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::checkpoint::Note;
use super::settlements::Settlements;
use super::unwritten::{INPUT, OUTPUT, Unwritten};
use crate::agent_requests::{AgentRequests, ResponseMatch};
use crate::caller::Asker;
use crate::client_requests::{ClientRequest, ClientRequests};
use crate::clock::now_ms;
use crate::envelope::Envelope;
use crate::error::{Error, StartFailure};
use crate::event::{EventKind, FailedRequest};
use crate::exit::{ExitCause, ExitRecord};
use crate::first_exchange::FirstExchangeState;
use crate::idempotency::{IdempotencyKey, Remembered, RememberedKeys};
use crate::limits::Limits;
use crate::local::AgentSeries;
use crate::message::{Answer, Delivery, IdPolicy, Message, Settled};
use crate::request_id::RequestId;

/// How many bytes of messages are kept until the first exchange is known.
const MAX_KEPT_LINES: usize = 4 << 20;

/// The phases in the life of an instance.
#[derive(Debug)]
pub(crate) enum Phase {
    /// The agent is being installed or started; messages are queued.
    Starting,
    /// The process runs.
    Running,
    /// The instance is being closed; no message is accepted.
    Closing,
    /// The process ended; the log can still be read.
    Exited(Ended),
    /// Removed from the registry; only the remaining readers still hold the instance.
    Gone(Ended),
}

/// How a process ended, and the event that reports it.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) record: ExitRecord,
    /// The sequence number of the `exit` event.
    pub(crate) sequence: u64,
}

/// A queued line for the agent.
#[derive(Debug)]
pub(crate) struct QueuedLine {
    pub(crate) bytes: Bytes,
    /// The id of the request in this line, if any. The request fails if the line cannot be written.
    pub(crate) request: Option<RequestId>,
    /// How many entries of the journal come before it: see [`Unwritten::has_written`].
    pub(crate) after: u64,
    /// The line's share of the bounded queue, and its memory. Both are released when the line is written.
    pub(crate) _room: OwnedSemaphorePermit,
    pub(crate) _memory: Reservation,
}

/// A client's message for this instance.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) message: Message,
    pub(crate) delivery: Delivery,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) ids: IdPolicy,
    pub(crate) asker: Option<Asker>,
}

/// The result of offering a message to the queue.
#[derive(Debug)]
pub(crate) enum Admission {
    /// The message is in the queue.
    Admitted {
        position: u64,
        assigned_id: Option<RequestId>,
        /// Receives the outcome, if there is one to wait for.
        waiter: Option<oneshot::Receiver<Settled>>,
        /// True if the outcome is the agent's answer (and not just whether the agent starts).
        awaits_answer: bool,
    },
    /// A repeat of a message that waits for its answer, or that needs none.
    Repeated(Option<oneshot::Receiver<Settled>>),
    /// A repeat of a message whose outcome is known.
    Settled(Settled),
    /// A repeat of a message that the agent answered with this event.
    Stored(u64),
    /// A repeat of a message that still waits for room in the queue.
    Enqueueing(Box<Incoming>),
    /// The queue is full.
    NoRoom(Box<Incoming>),
}

/// Lines that were read from the agent at once.
#[derive(Debug)]
pub(crate) struct OutputBatch {
    pub(crate) records: Batch,
    /// The envelopes of the requests and responses, each with its index among the records. Most lines are
    /// notifications.
    pub(crate) calls: Vec<(usize, Envelope)>,
}

/// What happens to an instance whose process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterExit {
    /// The instance stays listed, and its log can be read.
    StayListed,
    /// The instance is removed from the registry.
    Leave,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    pub(crate) pid: Option<u32>,
    /// The supervisor of the newest process.
    pub(crate) supervisor: Option<SupervisorId>,
    /// The log of what the agent sends and of what is reported about the agent.
    pub(crate) output: Log,
    /// The log of what clients send. It is separate, so that large prompts do not evict the agent's messages.
    pub(crate) input: Log,
    pub(crate) client_requests: ClientRequests,
    pub(crate) agent_requests: AgentRequests,
    pub(crate) keys: RememberedKeys,
    pub(crate) first_exchange: FirstExchangeState,
    pub(crate) queue: VecDeque<QueuedLine>,
    /// True while the task that writes to the agent waits for lines.
    pub(crate) is_writer_idle: bool,
    /// The entries that are not in the journal yet.
    pub(crate) unwritten: Unwritten,
    pub(crate) last_activity_ms: u64,
    /// True while the timer for waiting callers runs.
    pub(crate) has_timer: bool,
    /// Callers that wait for the process to start or fail to start.
    start_waiters: Vec<oneshot::Sender<Settled>>,
    /// The error for new messages, set once the agent no longer reads its input.
    input_failure: Option<Error>,
    account: Arc<MemoryAccount>,
    series: Arc<AgentSeries>,
    /// How many bytes are charged to the memory account for data outside of the logs.
    charged: usize,
    /// The size of the messages that waiting requests keep; see [`ClientRequest::line`].
    kept_lines: usize,
    max_client_requests: usize,
    max_retained_bytes: usize,
}

impl State {
    pub(crate) fn new(
        output: Log,
        input: Log,
        account: Arc<MemoryAccount>,
        series: Arc<AgentSeries>,
        limits: &Limits,
    ) -> Self {
        Self {
            phase: Phase::Starting,
            pid: None,
            supervisor: None,
            output,
            input,
            client_requests: ClientRequests::default(),
            agent_requests: AgentRequests::new(Arc::clone(&account)),
            keys: RememberedKeys::new(limits.idempotency_keys, limits.replay_bytes / 4, Arc::clone(&account)),
            first_exchange: FirstExchangeState::default(),
            queue: VecDeque::new(),
            is_writer_idle: false,
            unwritten: Unwritten::default(),
            last_activity_ms: now_ms(),
            has_timer: false,
            start_waiters: Vec::new(),
            input_failure: None,
            account,
            series,
            charged: 0,
            kept_lines: 0,
            max_client_requests: limits.max_pending,
            max_retained_bytes: limits.retained_bytes,
        }
    }

    /// Admits a message to the queue, or returns why it is refused. `take_room` takes room in the queue if
    /// there is enough.
    pub(crate) fn admit(
        &mut self,
        incoming: Incoming,
        take_room: impl FnOnce() -> Option<OwnedSemaphorePermit>,
    ) -> Result<Admission, Error> {
        if let Phase::Closing | Phase::Gone(_) = self.phase {
            return Err(self.refusal());
        }
        if let Some(key) = &incoming.key
            && let Some(remembered) = self.keys.recall(key)?.cloned()
        {
            return self.repeat(remembered, incoming);
        }
        self.check(&incoming)?;
        let Some(room) = take_room() else { return Ok(Admission::NoRoom(Box::new(incoming))) };
        Ok(self.commit(incoming, room))
    }

    /// Checks everything but room in the queue.
    fn check(&self, incoming: &Incoming) -> Result<(), Error> {
        if let Phase::Exited(_) = self.phase {
            return Err(self.refusal());
        }
        if let Some(error) = &self.input_failure {
            return Err(error.clone());
        }
        match incoming.message.envelope() {
            Envelope::Request(id) if incoming.ids == IdPolicy::Keep && self.client_requests.is_taken(id) => {
                Err(Error::DuplicateRequestId { id: id.clone() })
            }
            Envelope::Request(_) if self.client_requests.len() >= self.max_client_requests => {
                Err(Error::TooManyClientRequests { open: self.client_requests.len() })
            }
            Envelope::Response { id, .. }
                if self.agent_requests.classify(id) == ResponseMatch::AlreadyAnswered =>
            {
                Err(Error::AlreadyAnswered { id: id.clone() })
            }
            _ => Ok(()),
        }
    }

    fn commit(&mut self, incoming: Incoming, room: OwnedSemaphorePermit) -> Admission {
        let Incoming { mut message, delivery, key, ids, asker } = incoming;
        let assigned_id = (ids == IdPolicy::Assign && message.is_request()).then(|| {
            let id = self.client_requests.free_id();
            message.replace_id(&id);
            id
        });
        let Message { line, envelope, memory, .. } = message;
        let now = now_ms();
        self.last_activity_ms = now;
        let mut info = EventKind::Sent(envelope.kind()).info();
        info.mark = asker.map_or(0, Asker::mark);
        let run = self.input.append_one(info, &line, line.len() - 1, now, |_| {});
        let position = run.first().order;
        self.unwritten.push(INPUT, &run);
        if let Some(key) = &key {
            self.unwritten.push_note(Note::Key.tag(), || key.to_bytes());
        }
        let (mut request, mut waiter, mut awaits_answer) = (None, None, false);
        match envelope {
            // Agents answer unreadable messages with a null id, so an answer to this request could not be
            // told from such an error.
            Envelope::Request(id) if !id.is_null() => {
                self.remember(key.as_ref(), || Remembered::Open(id.clone()));
                let since = Instant::now();
                let mut client_request = ClientRequest::new(delivery, key, asker, since);
                if delivery == Delivery::Wait {
                    (waiter, awaits_answer) = (Some(client_request.wait(since)), true);
                }
                if self.kept_lines < MAX_KEPT_LINES {
                    self.first_exchange.on_request(&mut client_request, &line);
                }
                self.kept_lines += client_request.line.as_ref().map_or(0, Bytes::len);
                self.client_requests.insert(id.clone(), client_request);
                request = Some(id);
            }
            envelope => {
                if let Envelope::Response { id, .. } = envelope {
                    self.note_answered(&id, now);
                }
                self.remember(key.as_ref(), || Remembered::Accepted);
                waiter = self.wait_for_start(delivery);
            }
        }
        self.queue.push_back(QueuedLine {
            bytes: line,
            request,
            after: self.unwritten.pushed(),
            _room: room,
            _memory: memory,
        });
        self.settle_account();
        Admission::Admitted { position, assigned_id, waiter, awaits_answer }
    }

    /// Lets the sender of a message without an answer wait until the agent has started or failed to start.
    fn wait_for_start(&mut self, delivery: Delivery) -> Option<oneshot::Receiver<Settled>> {
        if !matches!(self.phase, Phase::Starting) || delivery == Delivery::Log {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.start_waiters.push(sender);
        Some(receiver)
    }

    fn note_answered(&mut self, id: &RequestId, now: u64) {
        if let ResponseMatch::Open { event } = self.agent_requests.classify(id)
            && let Some((id, since)) = self.agent_requests.answer(event)
        {
            self.series.agent_requests.observe(since.elapsed());
            let data = format!(r#"{{"id":{},"event":{event}}}"#, id.as_json());
            self.note(EventKind::Answered, data, now);
        }
    }

    /// The admission of a repeated message, given the outcome so far of the original.
    fn repeat(&mut self, remembered: Remembered, incoming: Incoming) -> Result<Admission, Error> {
        Ok(match remembered {
            Remembered::Enqueueing => Admission::Enqueueing(Box::new(incoming)),
            Remembered::Accepted => Admission::Repeated(self.wait_for_start(incoming.delivery)),
            Remembered::Settled(settled) => Admission::Settled(settled),
            Remembered::Stored(sequence) => Admission::Stored(sequence),
            Remembered::Open(id) => Admission::Repeated(match self.client_requests.get_mut(&id) {
                Some(_) if incoming.delivery == Delivery::Log => {
                    self.client_requests.deliver_to_log(&id);
                    None
                }
                Some(request) => Some(request.wait(Instant::now())),
                None => None,
            }),
            Remembered::Gone => return Err(Error::OutcomeGone),
        })
    }

    /// Records that the message with this key waits for room in the queue.
    pub(crate) fn mark_enqueueing(&mut self, key: Option<&IdempotencyKey>) {
        self.remember(key, || Remembered::Enqueueing);
    }

    /// Forgets the key of a message that did not get into the queue, so that the message may be sent again.
    pub(crate) fn forget_key(&mut self, key: Option<&IdempotencyKey>) {
        if let Some(key) = key {
            self.keys.forget(key);
        }
    }

    fn remember(&mut self, key: Option<&IdempotencyKey>, remembered: impl FnOnce() -> Remembered) {
        if let Some(key) = key {
            self.keys.remember(key, remembered());
        }
    }

    /// Appends what the agent wrote, and settles the requests that it answers.
    pub(crate) fn append_output(&mut self, output: OutputBatch) -> Settlements {
        let OutputBatch { mut records, calls } = output;
        let now = now_ms();
        self.last_activity_ms = now;
        let mut answered = Vec::with_capacity(calls.len());
        for (index, envelope) in calls {
            match envelope {
                Envelope::Request(id) if !id.is_null() => {
                    let event = self.output.next_sequence() - 1 + records.numbered_up_to(index);
                    self.agent_requests.open(id, event, Instant::now());
                }
                Envelope::Response { id, is_error } => {
                    if let Some((_, request)) = self.client_requests.answer(&id) {
                        self.series.client_requests.observe(request.since.elapsed());
                        records.set_mark(index, request.asker.map_or(0, Asker::mark));
                        answered.push((index, request, is_error));
                    }
                }
                Envelope::Request(_) | Envelope::Notification => {}
            }
        }
        let agent_requests = &mut self.agent_requests;
        let run = self.output.append(records, now, |record| agent_requests.on_evict(record));
        if let Some(run) = &run {
            self.unwritten.push(OUTPUT, run);
        }
        let settlements = run.map(|run| self.settle_answered(&run, answered)).unwrap_or_default();
        self.bound_retained();
        settlements
    }

    fn settle_answered(&mut self, run: &Run, answered: Vec<(usize, ClientRequest, bool)>) -> Settlements {
        let mut settlements =
            Settlements { requests: Vec::with_capacity(answered.len()), starts: Vec::new() };
        for (index, mut request, is_error) in answered {
            let response = run.share(index);
            if !self.first_exchange.is_decided() {
                self.first_exchange.on_response(&request, &response, is_error);
                self.kept_lines -= request.line.take().map_or(0, |line| line.len());
                if self.first_exchange.is_decided() {
                    self.drop_kept_lines();
                }
            }
            let settled = Ok(Answer::Response(response));
            let is_stored = self.unwritten.is_journalled();
            self.remember(request.key.as_ref(), || {
                if is_stored {
                    Remembered::Stored(run.record(index).sequence)
                } else {
                    Remembered::Settled(settled.clone())
                }
            });
            settlements.requests.push((request, settled));
        }
        settlements
    }

    fn drop_kept_lines(&mut self) {
        for request in self.client_requests.values_mut() {
            request.line = None;
        }
        self.kept_lines = 0;
    }

    /// Appends an event that the server itself reports. Returns its sequence number, or that of the last
    /// numbered event before it.
    pub(crate) fn note(&mut self, kind: EventKind, data: String, now: u64) -> u64 {
        let (agent_requests, data) = (&mut self.agent_requests, Bytes::from(data));
        let run = self
            .output
            .append_one(kind.info(), &data, data.len(), now, |record| agent_requests.on_evict(record));
        let sequence = run.first().sequence;
        self.unwritten.push(OUTPUT, &run);
        self.bound_retained();
        sequence
    }

    /// Evicts the oldest events, about `bytes` of them. Returns how much memory that freed.
    pub(crate) fn evict(&mut self, bytes: usize) -> usize {
        let mut evicted = 0;
        while evicted < bytes {
            let (said, sent) = (self.output.oldest_evictable(), self.input.oldest_evictable());
            let agent_requests = &mut self.agent_requests;
            evicted += match (said, sent) {
                (None, None) => break,
                (Some(said), Some(sent)) if said < sent => {
                    self.output.evict(1, |record| agent_requests.on_evict(record))
                }
                (Some(_), None) => self.output.evict(1, |record| agent_requests.on_evict(record)),
                (_, Some(_)) => self.input.evict(1, |_| {}),
            };
        }
        self.bound_retained();
        evicted
    }

    /// The order number of the oldest event that could be evicted.
    pub(crate) fn oldest_evictable(&self) -> Option<u64> {
        [&self.output, &self.input].into_iter().filter_map(Log::oldest_evictable).min()
    }

    /// The position of the newest event of either direction; 0 if there is none.
    pub(crate) fn newest_position(&self) -> u64 {
        self.output.newest_order().max(self.input.newest_order())
    }

    /// Bounds the unanswered agent requests that are kept after the log evicted them.
    fn bound_retained(&mut self) {
        // Only an agent that sends requests forever gets here. Losing the oldest requests is better than
        // unbounded memory.
        while self.agent_requests.retained_bytes() > self.max_retained_bytes
            && self.agent_requests.drop_oldest_retained().is_some()
        {}
        self.settle_account();
    }

    pub(crate) fn settle_account(&mut self) {
        let held = self.agent_requests.held_bytes()
            + self.client_requests.held_bytes()
            + self.keys.key_bytes()
            + self.first_exchange.bytes()
            + self.kept_lines;
        if held != self.charged {
            self.account.exchange(self.charged, held);
            self.charged = held;
        }
    }

    /// Called when the process runs.
    pub(crate) fn started(&mut self, pid: u32) -> Settlements {
        self.phase = Phase::Running;
        self.pid = Some(pid);
        self.input_failure = None;
        let waiters = std::mem::take(&mut self.start_waiters);
        let starts = waiters.into_iter().map(|waiter| (waiter, Ok(Answer::Accepted))).collect();
        Settlements { requests: Vec::new(), starts }
    }

    /// Called when a new process is about to start under the same id.
    pub(crate) fn restart(&mut self) {
        self.phase = Phase::Starting;
        self.first_exchange = FirstExchangeState::default();
        self.last_activity_ms = now_ms();
    }

    /// Called when the agent no longer reads its input. The unwritten lines fail, and so does every later
    /// message.
    pub(crate) fn input_failed(&mut self, unwritten: Vec<QueuedLine>, reason: &str) -> Settlements {
        let error = Error::InputClosed { reason: reason.to_owned() };
        self.input_failure = Some(error.clone());
        let lost: Vec<_> = unwritten.into_iter().chain(self.queue.drain(..)).collect();
        let mut settlements = Settlements::default();
        for id in lost.into_iter().filter_map(|line| line.request) {
            if let Some(request) = self.client_requests.remove(&id) {
                self.fail(&id, request, &error, &mut settlements);
            }
        }
        settlements
    }

    /// Fails every waiting request.
    pub(crate) fn fail_all(&mut self, error: &Error) -> Settlements {
        let mut settlements = Settlements::default();
        for (id, request) in self.client_requests.take_all() {
            self.fail(&id, request, error, &mut settlements);
        }
        for waiter in std::mem::take(&mut self.start_waiters) {
            settlements.starts.push((waiter, Err(error.clone())));
        }
        settlements
    }

    fn fail(&mut self, id: &RequestId, mut request: ClientRequest, error: &Error, into: &mut Settlements) {
        self.kept_lines -= request.line.take().map_or(0, |line| line.len());
        if request.is_unattended() {
            let failed = FailedRequest { id: id.clone(), error: error.clone() };
            self.note(EventKind::Failed, failed.to_json(), now_ms());
        }
        self.unwritten.push_note(Note::Failed.tag(), || {
            FailedRequest { id: id.clone(), error: error.clone() }.to_json().into()
        });
        let settled = Err(error.clone());
        self.remember(request.key.as_ref(), || Remembered::Settled(settled.clone()));
        into.requests.push((request, settled));
    }

    /// Called when the process is gone: settles every open request and reports the end.
    pub(crate) fn end(&mut self, record: ExitRecord, after: AfterExit) -> Settlements {
        self.queue.clear();
        self.agent_requests.clear();
        self.pid = None;
        self.input_failure = None;
        let settlements = self.fail_all(&record.to_error());
        let sequence = self.note(EventKind::Exit, record.to_json(), now_ms());
        let ended = Ended { record, sequence };
        self.phase = match after {
            // A DELETE is in progress: the agent must not be started again.
            AfterExit::StayListed if !matches!(self.phase, Phase::Closing) => Phase::Exited(ended),
            AfterExit::StayListed | AfterExit::Leave => Phase::Gone(ended),
        };
        settlements
    }

    /// Called when the process did not start. Does nothing if the instance was closed in the meantime. An
    /// instance whose process has run before stays listed; a new one is removed from the registry as if it
    /// had never existed.
    pub(crate) fn fail_start(&mut self, failure: StartFailure) -> Option<(Settlements, AfterExit)> {
        if !matches!(self.phase, Phase::Starting) {
            return None;
        }
        let after = if self.output.is_new() { AfterExit::Leave } else { AfterExit::StayListed };
        let record = ExitRecord { cause: ExitCause::NotStarted(failure), stderr_tail: String::new() };
        Some((self.end(record, after), after))
    }

    /// The error for messages in a phase in which none is accepted.
    pub(crate) fn refusal(&self) -> Error {
        match &self.phase {
            Phase::Exited(ended) => ended.record.to_error(),
            Phase::Gone(Ended {
                record: ExitRecord { cause: ExitCause::NotStarted(failure), .. }, ..
            }) => Error::NotStarted(failure.clone()),
            Phase::Closing | Phase::Gone(_) | Phase::Starting | Phase::Running => Error::InstanceClosing,
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.account.refund(self.charged);
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;

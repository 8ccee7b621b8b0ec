//! One instance: an agent process, its state and the tasks that serve it.
//!
//! An [`Instance`] is a handle. Its state is behind one lock that is held briefly, the process belongs to the
//! task in [`lifecycle`], and each of the three pipes belongs to a task of its own. Nothing else touches a
//! process.

mod checkpoint;
mod commit;
mod enqueue;
mod lifecycle;
mod settlements;
mod state;
mod stderr;
mod stdin;
mod stdout;
mod timeouts;
mod unwritten;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use event_log::{Log, Past, Retention};
use journal::StreamId;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

pub(crate) use self::checkpoint::Replay;
pub(crate) use self::commit::InstanceJournal;
pub(crate) use self::lifecycle::{CloseReason, start};
pub(crate) use self::state::{Admission, Incoming, Phase, State};
pub(crate) use self::unwritten::INPUT;
use crate::caller::Subject;
use crate::clock::now_ms;
use crate::local::{AgentSeries, Label, Shared};
use crate::server_id::ServerId;
use crate::summary::{InstanceStatus, Summary};

/// The log of client messages may take an instance's replay memory divided by this number, in addition to the
/// replay memory itself.
const INPUT_SHARE: usize = 4;

/// One `server_id` with its agent process, its logs and its waiting requests.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: ServerId,
    pub(crate) agent: Arc<str>,
    /// Where the metrics of this instance's agent are counted.
    series: Arc<AgentSeries>,
    /// The sequence number of the first event. It distinguishes this instance from earlier ones with the same
    /// id.
    pub(crate) first_sequence: u64,
    pub(crate) created_at_ms: u64,
    pub(crate) created_by: Option<Subject>,
    pub(crate) shared: Arc<Shared>,
    /// The instance's part of the journal; `None` without a journal.
    pub(crate) journal: Option<InstanceJournal>,
    state: Mutex<State>,
    /// Wakes readers when the output log or the phase has changed.
    changed: watch::Sender<()>,
    /// Wakes readers of both directions (the journal).
    journal_changed: watch::Sender<()>,
    /// Wakes the task that writes to the agent.
    queued: Notify,
    /// Wakes senders of repeated messages whose original waits for room in the queue.
    enqueued: Notify,
    /// The free room in the queue, in bytes. The semaphore is fair, so messages enter the queue in the order
    /// of their arrival.
    room: Arc<Semaphore>,
    /// Tells the lifecycle task to close the instance.
    close: CancellationToken,
    /// True once the lifecycle task of the newest process has finished and the process tree is gone.
    finished: watch::Sender<bool>,
    /// The number of open streams.
    readers: AtomicUsize,
}

/// The parts of an instance that never change.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) id: ServerId,
    pub(crate) agent: Arc<str>,
    pub(crate) created_by: Option<Subject>,
    pub(crate) first_sequence: u64,
    pub(crate) created_at_ms: u64,
}

impl Identity {
    fn stream_id(&self) -> StreamId {
        StreamId { name: self.id.as_str().into(), first_sequence: self.first_sequence }
    }

    fn label(&self) -> Bytes {
        Label { agent: self.agent.to_string(), created_at_ms: self.created_at_ms }.to_bytes()
    }
}

impl Instance {
    /// A new instance, whose process is about to start.
    pub(crate) fn new(identity: Identity, shared: Arc<Shared>) -> Arc<Self> {
        let past = Past {
            first_sequence: identity.first_sequence,
            last_order: 0,
            last_sequence: identity.first_sequence - 1,
            is_numbered: false,
        };
        let mut state = Self::state(&identity, past, &shared);
        let journal = shared.journal.clone().map(|journal| {
            state.unwritten.resume(shared.order.newest());
            InstanceJournal::new(journal, identity.stream_id(), identity.label(), None)
        });
        Self::with_state(identity, state, journal, shared)
    }

    /// The state of an instance whose events so far are only in the journal.
    pub(crate) fn state(identity: &Identity, past: Past, shared: &Shared) -> State {
        let limits = &shared.limits;
        let log = |max_bytes| {
            let retention = Retention { max_bytes, max_records: limits.replay_events };
            Log::continuing(past, Arc::clone(&shared.order), Arc::clone(&shared.account), retention)
        };
        let (output, input) = (log(limits.replay_bytes), log(limits.replay_bytes / INPUT_SHARE));
        let series = shared.metrics.by_agent.series(&identity.agent);
        State::new(output, input, Arc::clone(&shared.account), series, limits)
    }

    /// An instance with this state.
    pub(crate) fn with_state(
        identity: Identity,
        state: State,
        journal: Option<InstanceJournal>,
        shared: Arc<Shared>,
    ) -> Arc<Self> {
        let Identity { id, agent, created_by, first_sequence, created_at_ms } = identity;
        let series = shared.metrics.by_agent.series(&agent);
        let room = shared.limits.stdin_queue_bytes.clamp(1, u32::MAX as usize);
        Arc::new(Self {
            id,
            agent,
            series,
            first_sequence,
            created_at_ms,
            created_by,
            journal,
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
            journal_changed: watch::Sender::new(()),
            queued: Notify::new(),
            enqueued: Notify::new(),
            room: Arc::new(Semaphore::new(room)),
            close: CancellationToken::new(),
            finished: watch::Sender::new(true),
            readers: AtomicUsize::new(0),
            shared,
        })
    }

    /// Locks the state. The lock is never held across an await.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held is a bug. Continuing with the state as it is beats losing every
        // client of the instance.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all readers.
    pub(crate) fn announce(&self) {
        wake(&self.changed);
        self.announce_sent();
    }

    /// Wakes the readers that also follow what clients send.
    fn announce_sent(&self) {
        wake(&self.journal_changed);
        self.shared.announce();
    }

    /// Follows changes of the agent's output and of the phase.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Follows changes in both directions.
    pub(crate) fn watch_journal(&self) -> watch::Receiver<()> {
        self.journal_changed.subscribe()
    }

    /// How many bytes wait for the agent to read them.
    pub(crate) fn queued_bytes(&self) -> usize {
        let room = self.shared.limits.stdin_queue_bytes.clamp(1, u32::MAX as usize);
        // In a closed instance, no bytes wait.
        if self.room.is_closed() { 0 } else { room.saturating_sub(self.room.available_permits()) }
    }

    /// Counts a reader until the guard is dropped.
    pub(crate) fn attach(self: &Arc<Self>) -> ReaderGuard {
        self.readers.fetch_add(1, Ordering::Relaxed);
        ReaderGuard(Arc::clone(self))
    }

    /// Waits until the newest process and its whole tree are gone.
    pub(crate) async fn wait_finished(&self) {
        let mut finished = self.finished.subscribe();
        // `wait_for` only fails if the sender is dropped, and `self` owns the sender.
        let _ = finished.wait_for(|finished| *finished).await;
    }

    pub(crate) fn summary(&self) -> Summary {
        let state = self.lock();
        let (status, exit) = match &state.phase {
            Phase::Starting => (InstanceStatus::Starting, None),
            Phase::Running => (InstanceStatus::Running, None),
            Phase::Closing => (InstanceStatus::Closing, None),
            // The instance was closed, but processes that its agent left behind still run.
            Phase::Gone(_) if !*self.finished.borrow() => (InstanceStatus::Closing, None),
            Phase::Exited(ended) | Phase::Gone(ended) => (InstanceStatus::Exited, Some(ended.record.clone())),
        };
        let (first, next) = (state.output.first_sequence(), state.output.next_sequence());
        Summary {
            server_id: self.id.clone(),
            agent: self.agent.to_string(),
            status,
            pid: state.pid,
            created_at_ms: self.created_at_ms,
            last_activity_ms: state.last_activity_ms,
            last_sequence: if next == first { 0 } else { next - 1 },
            client_requests: state.client_requests.len(),
            agent_requests: state.agent_requests.list(),
            readers: Some(self.readers.load(Ordering::Relaxed)),
            exit,
            created_by: self.created_by.clone(),
        }
    }

    /// How long the instance has been idle: no reader, no open request in either direction, no message.
    /// `None` if it is not idle.
    pub(crate) fn idle_for_ms(&self, now_ms: u64) -> Option<u64> {
        let state = self.lock();
        let is_unused = self.readers.load(Ordering::Relaxed) == 0
            && state.client_requests.is_empty()
            && state.agent_requests.len() == 0;
        let is_at_rest = matches!(state.phase, Phase::Running | Phase::Exited(_));
        (is_unused && is_at_rest).then(|| now_ms.saturating_sub(state.last_activity_ms))
    }
}

/// Wakes waiting readers. Usually none waits, and then this costs nothing. A reader that subscribes at the
/// same time reads the log after it subscribed, so it misses nothing.
fn wake(watch: &watch::Sender<()>) {
    if watch.receiver_count() > 0 {
        watch.send_replace(());
    }
}

/// Counts a reader until it is dropped.
#[derive(Debug)]
pub(crate) struct ReaderGuard(Arc<Instance>);

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
        // The idle time starts when the reader leaves.
        self.0.lock().last_activity_ms = now_ms();
    }
}

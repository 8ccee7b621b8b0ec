//! One agent process and everything that is known of it.
//!
//! An [`Instance`] is a handle: its state sits behind one short lock, the process belongs to the task in
//! [`lifecycle`], and the three pipes to a task each. Nobody else touches a process.

mod arrive;
mod lifecycle;
mod overdue;
mod state;
mod stderr;
mod stdin;
mod stdout;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

pub(crate) use self::lifecycle::{CloseReason, start};
pub(crate) use self::overdue::too_late;
pub(crate) use self::state::{Admission, Incoming, Phase, State};
use crate::clock::now_ms;
use crate::document::JsonRpcId;
use crate::exit_record::ExitReport;
use crate::log::EventLog;
use crate::server_id::ServerId;
use crate::shared::Shared;

/// One `server_id` with its process, its past and its waiting requests.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: ServerId,
    pub(crate) agent: Arc<str>,
    /// The number of its first event, which tells this life of the id from others.
    pub(crate) life: u64,
    pub(crate) created_at_ms: u64,
    pub(crate) shared: Arc<Shared>,
    state: Mutex<State>,
    /// Wakes readers when the log or the phase has changed.
    changed: watch::Sender<()>,
    /// Wakes watchers of the journal, which also shows what clients send.
    journal_changed: watch::Sender<()>,
    /// Wakes the task that writes to the agent.
    queued: Notify,
    /// Wakes those who wait with another caller for room in the queue.
    arrivals: Notify,
    /// The room in the queue, in bytes. Fair, so that messages go in as they came.
    room: Arc<Semaphore>,
    /// Asks the lifecycle task to close.
    close: CancellationToken,
    /// True once the lifecycle task of the newest process has finished, its tree gone.
    finished: watch::Sender<bool>,
    /// Streams that are open.
    readers: AtomicUsize,
}

impl Instance {
    pub(crate) fn new(id: ServerId, agent: Arc<str>, first_sequence: u64, shared: Arc<Shared>) -> Arc<Self> {
        let limits = &shared.limits;
        let log =
            EventLog::new(first_sequence, Arc::clone(&shared.journal), Arc::clone(&shared.budget), limits);
        let room = limits.stdin_queue_bytes.clamp(1, u32::MAX as usize);
        Arc::new(Self {
            id,
            agent,
            life: first_sequence,
            created_at_ms: now_ms(),
            state: Mutex::new(State::new(log, Arc::clone(&shared.budget), limits)),
            changed: watch::Sender::new(()),
            journal_changed: watch::Sender::new(()),
            queued: Notify::new(),
            arrivals: Notify::new(),
            room: Arc::new(Semaphore::new(room)),
            close: CancellationToken::new(),
            finished: watch::Sender::new(true),
            readers: AtomicUsize::new(0),
            shared,
        })
    }

    /// The state, locked. Never held over an await: the guard is not `Send`-friendly on purpose of the lint.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a bug, but no step leaves the state half changed in a way that matters more
        // than losing every client of the instance.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells every reader that there is something new.
    pub(crate) fn announce(&self) {
        wake(&self.changed);
        self.announce_sent();
    }

    /// Tells those who see what clients send that there is something new.
    fn announce_sent(&self) {
        wake(&self.journal_changed);
        self.shared.announce();
    }

    /// Follows what the agent says.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Follows both directions.
    pub(crate) fn watch_journal(&self) -> watch::Receiver<()> {
        self.journal_changed.subscribe()
    }

    /// How much waits for the agent to read it.
    pub(crate) fn queued_bytes(&self) -> usize {
        let room = self.shared.limits.stdin_queue_bytes.clamp(1, u32::MAX as usize);
        // A closed instance has no room any more, and nothing waits for it.
        if self.room.is_closed() { 0 } else { room.saturating_sub(self.room.available_permits()) }
    }

    /// Counts a reader for as long as the guard lives.
    pub(crate) fn attach(self: &Arc<Self>) -> ReaderGuard {
        self.readers.fetch_add(1, Ordering::Relaxed);
        ReaderGuard(Arc::clone(self))
    }

    /// Waits until the newest process and its whole tree are gone.
    pub(crate) async fn wait_finished(&self) {
        let mut finished = self.finished.subscribe();
        // The sender lives in `self`, so the only way out is the value.
        let _ = finished.wait_for(|finished| *finished).await;
    }

    /// What `GET /v1/acp` says of it.
    pub(crate) fn summary(&self) -> Summary {
        let state = self.lock();
        let (status, exit) = match &state.phase {
            Phase::Starting => (InstanceStatus::Starting, None),
            Phase::Running => (InstanceStatus::Running, None),
            Phase::Closing => (InstanceStatus::Closing, None),
            Phase::Exited(record) | Phase::Gone(record) => (InstanceStatus::Exited, Some(record.report())),
        };
        let awaiting = state.awaited.iter().map(|(id, event)| AwaitingSummary {
            id: RawValue::from_string(id.as_json().to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned()),
            event,
        });
        let log = &state.log;
        let last_event_id = if log.next_sequence == log.first_sequence { 0 } else { log.next_sequence - 1 };
        Summary {
            server_id: self.id.as_str().to_owned(),
            agent: self.agent.to_string(),
            status,
            pid: state.pid,
            created_at_ms: self.created_at_ms,
            last_activity_ms: state.last_activity_ms,
            last_event_id,
            pending_requests: state.pending.len(),
            awaiting: awaiting.collect(),
            readers: self.readers.load(Ordering::Relaxed),
            exit,
        }
    }

    /// For how long nobody has used it: no reader, no waiting request in either direction, no message.
    pub(crate) fn idle_for_ms(&self, now_ms: u64) -> Option<u64> {
        let state = self.lock();
        let unused =
            self.readers.load(Ordering::Relaxed) == 0 && state.pending.is_empty() && state.awaited.is_empty();
        let at_rest = matches!(state.phase, Phase::Running | Phase::Exited(_));
        (unused && at_rest).then(|| now_ms.saturating_sub(state.last_activity_ms))
    }
}

/// Nobody to wake is the usual case, and then this costs nothing. Whoever comes meanwhile looks after it came, and
/// what it is to be told was there before this.
fn wake(watch: &watch::Sender<()>) {
    if watch.receiver_count() > 0 {
        watch.send_replace(());
    }
}

/// Keeps a reader counted.
#[derive(Debug)]
pub(crate) struct ReaderGuard(Arc<Instance>);

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
        // Idle time counts from here.
        self.0.lock().last_activity_ms = now_ms();
    }
}

/// All instances.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstanceList {
    /// One for each server id.
    pub(crate) servers: Vec<Summary>,
}

/// How far an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InstanceStatus {
    /// Its agent is being installed or started.
    Starting,
    /// Its agent runs.
    Running,
    /// Its agent is being ended.
    Closing,
    /// Its agent has ended; what it said can still be read.
    Exited,
}

/// One instance as the list shows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Instance)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The id the client chose.
    pub server_id: String,
    /// The agent it is bound to.
    pub agent: String,
    /// How far it is.
    pub status: InstanceStatus,
    /// The agent's process id while it runs.
    #[schema(required = true)]
    pub pid: Option<u32>,
    /// When the instance was made, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When a message last passed, in milliseconds since 1970.
    pub last_activity_ms: u64,
    /// The number of the newest event; 0 when there is none.
    pub last_event_id: u64,
    /// How many requests wait for the agent.
    pub pending_requests: usize,
    /// The agent's own unanswered requests.
    pub awaiting: Vec<AwaitingSummary>,
    /// How many streams are open.
    pub readers: usize,
    /// How the process ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub exit: Option<ExitReport>,
}

/// An unanswered request of the agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AwaitedRequest)]
pub struct AwaitingSummary {
    /// Its JSON-RPC id.
    #[schema(value_type = JsonRpcId)]
    pub id: Box<RawValue>,
    /// The event that it was.
    pub event: u64,
}

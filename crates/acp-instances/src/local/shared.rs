//! The data that all instances of one engine share.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use event_log::{MemoryAccount, OrderCounter};
use journal::{Journal, StreamInfo, SyncMode};
use tokio::sync::{Semaphore, watch};

use super::metrics::EngineMetrics;
use super::registry::Registry;
use crate::clock::{now_ms, now_us};
use crate::launcher::Launcher;
use crate::limits::Limits;

/// The shortest time between two lines that are dropped for lack of memory.
const GIVE_UP_DISTANCE_MS: u64 = 100;

/// How many reads of the journal run at once. Each takes a thread for a moment, and threads keep some of the memory that
/// they have used.
const HISTORY_READS: usize = 4;

pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) launcher: Arc<dyn Launcher>,
    pub(crate) account: Arc<MemoryAccount>,
    /// The journal, in which events survive this process.
    pub(crate) journal: Option<Journal>,
    /// True if every write to the journal is synced to the disk before it takes effect.
    pub(crate) syncs_every_write: bool,
    /// Turns to read from the journal: see [`HISTORY_READS`].
    pub(super) history_reads: Arc<Semaphore>,
    /// How many instances go on without their journal.
    suspended: AtomicI64,
    pub(crate) metrics: EngineMetrics,
    /// Numbers every event of every instance. It starts at the current time, so that numbers grow across
    /// restarts.
    pub(crate) order: Arc<OrderCounter>,
    /// When a line was last dropped for lack of memory.
    gave_up_at_ms: AtomicU64,
    /// Wakes subscriptions to many instances.
    changed: watch::Sender<()>,
    /// The registry of the instances. The reference is weak, because the registry owns the instances, and every
    /// instance holds this value.
    registry: OnceLock<Weak<Registry>>,
}

impl Shared {
    pub(crate) fn new(
        limits: Limits,
        launcher: Arc<dyn Launcher>,
        backing: Option<(Journal, &[StreamInfo])>,
    ) -> Arc<Self> {
        let account = MemoryAccount::new(limits.memory_budget);
        // The clock may have been set back, but numbers must never decrease.
        let streams = backing.as_ref().map_or(&[][..], |(_, streams)| streams);
        let first_order = streams.iter().map(|stream| stream.last_order + 1).max().unwrap_or(0).max(now_us());
        let order = Arc::new(OrderCounter::starting_at(first_order));
        Arc::new(Self {
            limits,
            launcher,
            account,
            syncs_every_write: backing
                .as_ref()
                .is_some_and(|(journal, _)| journal.sync_mode() == SyncMode::Full),
            journal: backing.map(|(journal, _)| journal),
            suspended: AtomicI64::new(0),
            history_reads: Arc::new(Semaphore::new(HISTORY_READS)),
            metrics: EngineMetrics::default(),
            order,
            gave_up_at_ms: AtomicU64::new(0),
            changed: watch::Sender::new(()),
            registry: OnceLock::new(),
        })
    }

    /// Counts the instances that go on without their journal.
    pub(crate) fn journal_suspended(&self, change: i64) {
        self.suspended.fetch_add(change, Ordering::Relaxed);
    }

    /// How many instances go on without their journal.
    pub(crate) fn suspended_journals(&self) -> u64 {
        self.suspended.load(Ordering::Relaxed).try_into().unwrap_or(0)
    }

    pub(super) fn set_registry(&self, registry: &Arc<Registry>) {
        // Called once, when the registry is made.
        let _ = self.registry.set(Arc::downgrade(registry));
    }

    pub(crate) fn registry(&self) -> Option<Arc<Registry>> {
        self.registry.get().and_then(Weak::upgrade)
    }

    /// Wakes subscriptions to many instances.
    pub(crate) fn announce(&self) {
        if self.changed.receiver_count() > 0 {
            self.changed.send_replace(());
        }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.registry().is_none_or(|registry| registry.is_shutting_down())
    }

    /// Returns true to one caller at a time, and not again before [`GIVE_UP_DISTANCE_MS`] have passed.
    pub(crate) fn may_give_up(&self) -> bool {
        let now = now_ms();
        let is_due = |last: u64| (now.saturating_sub(last) >= GIVE_UP_DISTANCE_MS).then_some(now);
        self.gave_up_at_ms.try_update(Ordering::Relaxed, Ordering::Relaxed, is_due).is_ok()
    }

    /// Makes room in the memory account by evicting the oldest events of all instances.
    pub(crate) fn make_room(&self, bytes: usize) {
        if self.account.excess(bytes) > 0
            && let Some(registry) = self.registry()
        {
            registry.make_room(bytes);
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
}

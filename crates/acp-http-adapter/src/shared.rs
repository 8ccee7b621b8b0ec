//! What all instances of one bridge have in common.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::watch;

use crate::budget::MemoryBudget;
use crate::clock::now_us;
use crate::launcher::Launcher;
use crate::limits::Limits;
use crate::measures::BridgeMeasures;
use crate::registry::Registry;

pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) launcher: Arc<dyn Launcher>,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) measures: BridgeMeasures,
    /// Numbers every event of every instance in one order. Starts at the time, so that it grows over restarts.
    pub(crate) journal: Arc<AtomicU64>,
    /// Wakes those who read many instances at once.
    changed: watch::Sender<()>,
    /// The registry these instances are in. Weak: the registry owns them, not they it.
    pub(crate) registry: OnceLock<Weak<Registry>>,
}

impl Shared {
    pub(crate) fn new(limits: Limits, launcher: Arc<dyn Launcher>) -> Arc<Self> {
        let budget = MemoryBudget::new(limits.memory_budget);
        let journal = Arc::new(AtomicU64::new(now_us()));
        Arc::new(Self {
            limits,
            launcher,
            budget,
            measures: BridgeMeasures::default(),
            journal,
            changed: watch::Sender::new(()),
            registry: OnceLock::new(),
        })
    }

    pub(crate) fn announce(&self) {
        if self.changed.receiver_count() > 0 {
            self.changed.send_replace(());
        }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The newest journal number drawn so far.
    pub(crate) fn newest_journal(&self) -> u64 {
        self.journal.load(Ordering::SeqCst) - 1
    }

    /// Whether the server is shutting down.
    pub(crate) fn is_stopping(&self) -> bool {
        self.registry.get().and_then(Weak::upgrade).is_none_or(|registry| registry.is_stopping())
    }

    /// Makes room in the memory budget by forgetting the oldest events there are.
    pub(crate) fn make_room(&self, bytes: usize) {
        if self.budget.excess(bytes) > 0
            && let Some(registry) = self.registry.get().and_then(Weak::upgrade)
        {
            registry.forget_oldest(bytes);
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
}

//! Watches which instances are opened and closed.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch;

use super::changes::Change;
use super::registry::Registry;
use crate::cursor::JournalCursor;
use crate::error::Error;
use crate::instances::{Watch, Watched};
use crate::launcher::BoxFuture;

pub(super) struct ChangeWatch {
    registry: Arc<Registry>,
    changed: watch::Receiver<()>,
    seen: u64,
    /// True if the client must receive the changes after `seen`, so that lost ones must be reported.
    is_owed: bool,
    found: VecDeque<Watched>,
}

impl ChangeWatch {
    pub(super) fn open(registry: Arc<Registry>, from: JournalCursor) -> Self {
        let (seen, is_owed) = match from {
            JournalCursor::Oldest => (0, false),
            JournalCursor::Newest => (registry.shared.order.newest(), true),
            JournalCursor::After(position) => (position, true),
        };
        let changed = registry.shared.watch();
        Self { registry, changed, seen, is_owed, found: VecDeque::new() }
    }

    /// True if the engine shuts down and no instance is left. Until then, closings are still reported.
    fn is_over(&self) -> bool {
        self.registry.is_shutting_down() && self.registry.all().is_empty()
    }

    fn look(&mut self) {
        let newest = self.registry.shared.order.newest();
        let is_ahead = self.seen > newest;
        let (changes, some_dropped) = self.registry.changes.after(if is_ahead { 0 } else { self.seen });
        if is_ahead || (some_dropped && self.is_owed) {
            self.found.push_back(Watched::Gap { up_to: newest });
        }
        if !is_ahead {
            self.found.extend(changes.into_iter().map(|Change { change, .. }| Watched::Change(change)));
        }
        self.seen = newest;
        self.is_owed = true;
    }
}

impl Watch for ChangeWatch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Watched, Error>>> {
        Box::pin(async {
            loop {
                if let Some(found) = self.found.pop_front() {
                    return Some(Ok(found));
                }
                // Before reading the changes, so that a change during the reading ends the wait below.
                self.changed.mark_unchanged();
                self.look();
                if self.found.is_empty() && (self.is_over() || self.changed.changed().await.is_err()) {
                    return None;
                }
            }
        })
    }
}

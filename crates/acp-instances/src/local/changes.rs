//! The most recent openings and closings of instances.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use event_log::OrderCounter;

use crate::instance::Instance;
use crate::subscription::{ChangeKind, InstanceChange};

/// How many changes are remembered for subscriptions that reconnect.
const REMEMBERED: usize = 4096;

/// A change, with the numbers that distinguish instances with the same id.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) change: InstanceChange,
    pub(super) first_sequence: u64,
    /// For a closed instance: the position of its newest event, which was removed with it.
    pub(super) last_position: u64,
}

#[derive(Debug, Default)]
struct Remembered {
    recent: VecDeque<Change>,
    /// The position of the newest change that has been forgotten.
    dropped: u64,
}

/// The changes that are still remembered.
#[derive(Debug, Default)]
pub(super) struct Changes(Mutex<Remembered>);

impl Changes {
    pub(super) fn note(
        &self,
        instance: &Instance,
        kind: ChangeKind,
        last_position: u64,
        order: &OrderCounter,
    ) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Draw the number under the lock, as for an instance's own events.
        let position = order.draw(1);
        let (server_id, agent) = (instance.id.clone(), instance.agent.to_string());
        let change = InstanceChange { position, server_id, agent, kind };
        let first_sequence = instance.first_sequence;
        remembered.recent.push_back(Change { change, first_sequence, last_position });
        if remembered.recent.len() > REMEMBERED
            && let Some(oldest) = remembered.recent.pop_front()
        {
            remembered.dropped = oldest.change.position;
        }
    }

    /// The changes after a position, and true if some of the changes after it have been forgotten.
    pub(super) fn after(&self, position: u64) -> (Vec<Change>, bool) {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_after = |change: &&Change| change.change.position > position;
        let after = remembered.recent.iter().filter(is_after).cloned().collect();
        (after, remembered.dropped > position)
    }
}

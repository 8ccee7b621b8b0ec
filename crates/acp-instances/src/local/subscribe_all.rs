//! Subscriptions to many instances, with one cursor for all of them.
//!
//! Every event of every instance has a number from one counter. A pull first loads that counter, then looks
//! into each instance. It finds every event up to the loaded number, because numbers are drawn under the same
//! lock that guards the log. The events of a run have consecutive numbers, so sorting runs sorts events.

use std::sync::Arc;

use event_log::{Gap, Log, Read, Reader, Run};
use tokio::sync::watch;

use super::changes::Change;
use super::registry::Registry;
use super::subscribe::push_retained;
use crate::cursor::JournalCursor;
use crate::error::Error;
use crate::instance::{Instance, Phase, State};
use crate::launcher::BoxFuture;
use crate::subscription::{ChangeKind, Selection, SubscribeAll, Subscription, Update};

/// The most events of one instance that one pull takes, except for a single longer run.
const EVENTS_PER_INSTANCE: usize = 256;
/// The most bytes of one instance that one pull takes, except for a single longer run.
const BYTES_PER_INSTANCE: usize = 256 << 10;

/// A subscription to many instances.
pub(super) struct AllSubscription {
    registry: Arc<Registry>,
    selection: Selection,
    with_sent: bool,
    changed: watch::Receiver<()>,
    /// Everything up to this position has been delivered.
    seen: u64,
    began_at: u64,
    /// True if the client must receive everything after `seen`, so that lost events must be reported.
    is_owed: bool,
    has_started: bool,
    /// Changes up to this position are not reported: the list of instances that is delivered first includes
    /// them.
    listed_at: u64,
    /// The followed instances. One that has left the registry stays here until all of its events are
    /// delivered.
    followed: Vec<Followed>,
}

struct Followed {
    instance: Arc<Instance>,
    reader: Reader,
}

/// An update with its place in the order. A gap comes before an event at the same position.
struct Placed {
    position: u64,
    update: Update,
}

impl Placed {
    fn events(instance: &Instance, run: Run) -> Self {
        Self { position: run.first().order, update: Update::Events { server_id: instance.id.clone(), run } }
    }
}

impl AllSubscription {
    pub(super) fn open(registry: Arc<Registry>, subscribe: SubscribeAll) -> Self {
        let SubscribeAll { selection, with_sent, from } = subscribe;
        let newest = registry.shared.order.newest();
        let (seen, is_owed) = match from {
            JournalCursor::Oldest => (0, false),
            JournalCursor::Newest => (newest, false),
            JournalCursor::After(position) => (position, true),
        };
        let changed = registry.shared.watch();
        Self {
            registry,
            selection,
            with_sent,
            changed,
            seen,
            began_at: newest,
            is_owed,
            has_started: false,
            listed_at: 0,
            followed: Vec::new(),
        }
    }

    /// Adds the first update: the instances as they are now.
    fn start(&mut self, updates: &mut Vec<Update>) {
        self.has_started = true;
        let newest = self.registry.shared.order.newest();
        // Read the position before making the list: a change in between is then reported twice instead of
        // never.
        self.listed_at = if self.is_owed { self.seen } else { newest };
        let all = self.registry.all().into_iter().filter(|instance| self.selection.has(&instance.id));
        updates.push(Update::Instances(all.map(|instance| instance.summary()).collect()));
        if self.is_owed && self.seen > newest {
            // The cursor is from another server whose clock was ahead of this one's.
            updates.push(server_gap(self.seen, 0));
            self.seen = 0;
        }
    }

    fn follow_new_instances(&mut self) {
        for instance in self.registry.all() {
            let is_followed = self.followed.iter().any(|one| Arc::ptr_eq(&one.instance, &instance));
            if !self.selection.has(&instance.id) || is_followed {
                continue;
            }
            let state = instance.lock();
            let reader = read_logs(&state, self.with_sent, |logs| {
                let mut reader = Reader::at_oldest(logs);
                reader.move_to(self.seen);
                // A subscription that gave no cursor has lost nothing by earlier evictions.
                if self.is_owed { Reader::owed_from(self.seen) } else { reader }
            });
            drop(state);
            self.followed.push(Followed { instance, reader });
        }
    }

    fn pull(&mut self) -> Option<Vec<Update>> {
        let mut updates = Vec::new();
        if !self.has_started {
            self.start(&mut updates);
        }
        loop {
            let newest = self.registry.shared.order.newest();
            self.follow_new_instances();
            let (changes, some_dropped) = self.registry.changes.after(self.seen);
            if some_dropped && self.is_owed {
                updates.push(server_gap(self.seen, newest));
            }
            let mut placed = Vec::new();
            // If an instance has more events than one pull takes, this pull ends before the first event left over.
            let mut limit = newest;
            for Followed { instance, reader } in &mut self.followed {
                let state = instance.lock();
                if !self.is_owed && self.seen == 0 {
                    push_retained(&mut updates, instance, &state, 0);
                }
                let (runs, complete) = collect(reader, &state, self.with_sent, newest, |gap| {
                    updates.push(Update::Gap { server_id: Some(instance.id.clone()), gap });
                    push_retained(&mut updates, instance, &state, 0);
                });
                limit = limit.min(complete);
                placed.extend(runs.into_iter().map(|run| Placed::events(instance, run)));
            }
            self.place_changes(&changes, &mut placed);
            placed.retain(|one| one.position <= limit);
            placed.sort_by_key(|one| one.position);
            updates.extend(placed.into_iter().map(|one| one.update));
            self.seen = self.seen.max(limit);
            self.is_owed = true;
            self.settle(limit);
            // If there are no updates before the limit, this view filters out all of those events: continue
            // at once.
            if !updates.is_empty() || limit == newest {
                return (!updates.is_empty()).then_some(updates);
            }
        }
    }

    fn place_changes(&self, changes: &[Change], placed: &mut Vec<Placed>) {
        for change in changes.iter().filter(|change| self.selection.has(&change.change.server_id)) {
            let is_followed = self.followed.iter().any(|one| {
                one.instance.id == change.change.server_id
                    && one.instance.first_sequence == change.first_sequence
            });
            // A subscription that starts at the oldest event receives existing instances at the place where
            // they were opened.
            if change.change.position <= self.listed_at && !is_followed {
                continue;
            }
            let position = change.change.position;
            let has_unseen = change.change.kind == ChangeKind::Closed && change.last_position > self.seen;
            if has_unseen && !is_followed {
                // The instance's events were removed with it.
                let server_id = Some(change.change.server_id.clone());
                let gap = position_gap(self.seen, position);
                placed.push(Placed { position, update: Update::Gap { server_id, gap } });
            }
            placed.push(Placed { position, update: Update::Change(change.change.clone()) });
        }
    }

    /// Moves all readers to the limit, and stops following closed instances whose events are all delivered.
    fn settle(&mut self, limit: u64) {
        let with_sent = self.with_sent;
        self.followed.retain_mut(|followed| {
            followed.reader.move_to(limit);
            let state = followed.instance.lock();
            let has_more = read_logs(&state, with_sent, |logs| followed.reader.has_more(logs));
            !matches!(state.phase, Phase::Gone(_)) || has_more
        });
    }

    fn is_over(&self) -> bool {
        self.registry.is_shutting_down() && self.followed.is_empty()
    }
}

impl Subscription for AllSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Update>, Error>>> {
        Box::pin(async {
            loop {
                // Before reading the logs, so that a change during the reading ends the wait below.
                self.changed.mark_unchanged();
                if let Some(updates) = self.pull() {
                    return Some(Ok(updates));
                }
                if self.is_over() || self.changed.changed().await.is_err() {
                    return None;
                }
            }
        })
    }

    fn began_at(&self) -> u64 {
        self.began_at
    }
}

/// Calls `read` with those logs of an instance that a subscription follows.
fn read_logs<T>(state: &State, with_sent: bool, read: impl FnOnce(&[&Log]) -> T) -> T {
    if with_sent { read(&[&state.output, &state.input]) } else { read(&[&state.output]) }
}

/// Collects the runs of an instance up to `newest`, as many as one pull takes. Also returns the order number up
/// to which they are complete.
fn collect(
    reader: &mut Reader,
    state: &State,
    with_sent: bool,
    newest: u64,
    mut on_gap: impl FnMut(Gap),
) -> (Vec<Run>, u64) {
    let (mut runs, mut count, mut bytes) = (Vec::new(), 0, 0);
    loop {
        match read_logs(state, with_sent, |logs| reader.read(logs, newest)) {
            Read::Nothing => return (runs, newest),
            Read::Gap(gap) => on_gap(gap),
            Read::Run(run) => {
                (count, bytes) = (count + run.len(), bytes + run.bytes());
                let complete = run.last().order;
                runs.push(run);
                if count >= EVENTS_PER_INSTANCE || bytes >= BYTES_PER_INSTANCE {
                    return (runs, complete);
                }
            }
        }
    }
}

/// A gap that belongs to no instance.
fn server_gap(after: u64, next: u64) -> Update {
    Update::Gap { server_id: None, gap: position_gap(after, next) }
}

const fn position_gap(after: u64, next: u64) -> Gap {
    Gap { after_sequence: 0, next_sequence: 0, after_order: after, next_order: next }
}

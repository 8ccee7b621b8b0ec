//! Subscriptions to many instances, with one cursor for all of them.
//!
//! Every event of every instance has a number from one counter. A pull first loads that counter, then looks
//! into each instance. It finds every event up to the loaded number, because numbers are drawn under the same
//! lock that guards the log. The events of a run have consecutive numbers, so sorting runs sorts events.

use std::io;
use std::sync::Arc;

use event_log::{Gap, Log, Read, Reader, Run};
use journal::Found;
use tokio::sync::watch;

use super::changes::Change;
use super::history::{Batch, History};
use super::pending::{Pending, size};
use super::registry::Registry;
use super::subscribe::push_retained;
use crate::cursor::JournalCursor;
use crate::error::Error;
use crate::instance::{INPUT, Instance, InstanceJournal, Phase, State};
use crate::launcher::BoxFuture;
use crate::subscription::{ChangeKind, Selection, SubscribeAll, Subscription, Update};

/// The most events of one instance that one pull takes, except for a single longer run.
const EVENTS_PER_INSTANCE: usize = 256;
/// The most bytes of one instance that one pull takes, except for a single longer run.
const BYTES_PER_INSTANCE: usize = 256 << 10;

/// How many bytes one pull reads from the journals of all instances together, unless there are very many.
const HISTORY_BYTES: usize = PULL_BYTES;
/// The least number of bytes that one pull reads from each journal.
const HISTORY_SHARE: usize = 16 << 10;

/// How many bytes one pull brings of all instances together, unless one chunk has more.
const PULL_BYTES: usize = 512 << 10;

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
    /// Updates that were pulled and wait to be delivered.
    pending: Pending,
}

struct Followed {
    instance: Arc<Instance>,
    reader: Reader,
    /// Reads what the logs in memory no longer hold.
    history: History,
    /// The part of the journal that was read last, until it is delivered. Kept here, so that a dropped pull loses
    /// nothing.
    fetched: Option<Fetched>,
}

/// A part of the journal.
struct Fetched {
    /// The order number after which the part starts.
    after: u64,
    /// The part; `None` if the journal ended there.
    batch: Option<Batch>,
}

/// The events of one instance that one pull takes.
#[derive(Default)]
struct Collected {
    runs: Vec<Run>,
    gaps: Vec<Gap>,
    /// The order number up to which no event is missing.
    complete: u64,
}

impl Followed {
    /// True when the next events are not in memory, and have not been fetched from the journal.
    fn must_fetch(&self, with_sent: bool) -> bool {
        let state = self.instance.lock();
        let mut reader = self.reader;
        self.instance.journal.is_some()
            && self.fetched.as_ref().is_none_or(|fetched| fetched.after != reader.seen())
            && matches!(
                read_logs(&state, with_sent, |logs| reader.read(logs, state.unwritten.visible_up_to())),
                Read::Gap(_)
            )
    }

    /// Reads about `max_bytes` from the journal.
    async fn fetch(&mut self, max_bytes: usize) {
        // Check this before reading the journal: an event that is not written yet may be evicted from memory during
        // the read.
        let is_clean = self.instance.lock().unwritten.is_clean();
        let instance = Arc::clone(&self.instance);
        let open = move || match &instance.journal {
            Some(journal) => journal.reader(),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let (after, shared) = (self.reader.seen(), &self.instance.shared);
        match self.history.read_after(after, max_bytes, shared, open).await {
            Ok(None) if !is_clean => {}
            Ok(batch) => self.fetched = Some(Fetched { after, batch }),
            Err(error) => {
                tracing::warn!(server_id = %self.instance.id, %error, "cannot read the journal");
                self.fetched = Some(Fetched { after, batch: None });
            }
        }
    }

    /// Takes what is in memory or was fetched, up to `newest`.
    fn collect(&mut self, with_sent: bool, newest: u64) -> Collected {
        let state = self.instance.lock();
        let newest = newest.min(state.unwritten.visible_up_to());
        let mut collected = Collected { complete: newest, ..Collected::default() };
        let (mut count, mut bytes) = (0, 0);
        loop {
            let before = self.reader;
            match read_logs(&state, with_sent, |logs| self.reader.read(logs, newest)) {
                Read::Nothing => return collected,
                Read::Gap(gap) => {
                    let is_here = |fetched: &mut Fetched| fetched.after == before.seen();
                    match self.fetched.take_if(is_here) {
                        // The events are neither in memory nor in the journal: they are lost.
                        Some(Fetched { batch: None, .. }) => collected.gaps.push(gap),
                        None if self.instance.journal.is_none() => collected.gaps.push(gap),
                        Some(Fetched { batch: Some(batch), .. }) => {
                            self.reader = before;
                            collected.complete = batch.last_order;
                            take_batch(&mut self.reader, batch, with_sent, &mut collected);
                            return collected;
                        }
                        None => {
                            self.reader = before;
                            collected.complete = before.seen();
                            return collected;
                        }
                    }
                }
                Read::Run(run) => {
                    (count, bytes) = (count + run.len(), bytes + run.bytes());
                    let last = run.last().order;
                    collected.runs.push(run);
                    if count >= EVENTS_PER_INSTANCE || bytes >= BYTES_PER_INSTANCE {
                        collected.complete = last;
                        return collected;
                    }
                }
            }
        }
    }
}

/// Takes those events of a part of the journal that a subscription follows.
fn take_batch(reader: &mut Reader, batch: Batch, with_sent: bool, collected: &mut Collected) {
    for found in batch.found {
        match found {
            Found::Records { log, run } => {
                reader.pass(&run);
                if with_sent || log != INPUT {
                    collected.runs.push(run);
                }
            }
            Found::Gap { next_order, next_sequence, .. } => {
                collected.gaps.push(reader.gap_until(next_order, next_sequence));
            }
            Found::Note { .. } => {}
        }
    }
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
            pending: Pending::default(),
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
                let is_kept = instance.journal.is_some();
                if self.is_owed || is_kept { Reader::owed_from(self.seen) } else { reader }
            });
            drop(state);
            self.followed.push(Followed { instance, reader, history: History::default(), fetched: None });
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
            let is_first = !self.is_owed && self.seen == 0;
            let with_sent = self.with_sent;
            let mut collected = Vec::new();
            for (index, followed) in self.followed.iter_mut().enumerate() {
                if is_first {
                    let held_from =
                        followed.instance.journal.as_ref().and_then(InstanceJournal::oldest_sequence);
                    let state = followed.instance.lock();
                    let before = held_from.unwrap_or(u64::MAX);
                    push_retained(&mut updates, &followed.instance, &state, 0, before);
                }
                collected.push((index, followed.collect(with_sent, newest)));
            }
            for (index, Collected { runs, gaps, complete }) in collected {
                let instance = &self.followed[index].instance;
                for gap in gaps {
                    updates.push(Update::Gap { server_id: Some(instance.id.clone()), gap });
                    push_retained(&mut updates, instance, &instance.lock(), 0, u64::MAX);
                }
                limit = limit.min(complete);
                placed.extend(runs.into_iter().map(|run| Placed::events(instance, run)));
            }
            self.place_changes(&changes, &mut placed);
            placed.retain(|one| one.position <= limit);
            placed.sort_by_key(|one| one.position);
            limit = bound(&mut placed, limit);
            updates.extend(placed.into_iter().map(|one| one.update));
            let seen_before = self.seen;
            self.seen = self.seen.max(limit);
            self.is_owed = true;
            self.settle();
            // If there are no updates before the limit, this view filters out all of those events: continue
            // at once.
            if !updates.is_empty() || limit == newest || limit <= seen_before {
                return (!updates.is_empty()).then_some(updates);
            }
        }
    }

    /// Fetches events from the journals of those instances whose logs in memory no longer hold them.
    async fn fetch(&mut self) {
        let with_sent = self.with_sent;
        let mut behind: Vec<_> =
            self.followed.iter_mut().filter(|followed| followed.must_fetch(with_sent)).collect();
        let share = (HISTORY_BYTES / behind.len().max(1)).clamp(HISTORY_SHARE, BYTES_PER_INSTANCE);
        for followed in &mut behind {
            followed.fetch(share).await;
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

    /// Moves all readers to what has been delivered, and stops following closed instances whose events are all delivered.
    fn settle(&mut self) {
        // Not the limit of the last pull: an instance whose newest events are not written yet may have a limit before
        // what has been delivered, and readers that go back would deliver events twice.
        let (with_sent, seen) = (self.with_sent, self.seen);
        self.followed.retain_mut(|followed| {
            followed.reader.move_to(seen);
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
                if let Some(updates) = self.pending.take() {
                    return Some(Ok(updates));
                }
                // Before reading the logs, so that a change during the reading ends the wait below.
                self.changed.mark_unchanged();
                self.follow_new_instances();
                self.fetch().await;
                let seen = self.seen;
                if let Some(updates) = self.pull() {
                    self.pending.extend(updates);
                    continue;
                }
                if self.seen > seen {
                    // The part has only events that this view leaves out. Later parts may have others.
                    continue;
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

/// Leaves about as many updates as one pull may bring. Returns the limit of what is left.
fn bound(placed: &mut Vec<Placed>, limit: u64) -> u64 {
    let mut bytes = 0;
    let is_over = |one: &Placed| {
        bytes += size(&one.update);
        bytes > PULL_BYTES
    };
    match placed.iter().position(is_over) {
        Some(index @ 1..) if placed[index].position > placed[index - 1].position => {
            let limit = placed[index].position - 1;
            placed.truncate(index);
            limit
        }
        _ => limit,
    }
}

/// A gap that belongs to no instance.
fn server_gap(after: u64, next: u64) -> Update {
    Update::Gap { server_id: None, gap: position_gap(after, next) }
}

const fn position_gap(after: u64, next: u64) -> Gap {
    Gap { after_sequence: 0, next_sequence: 0, after_order: after, next_order: next }
}

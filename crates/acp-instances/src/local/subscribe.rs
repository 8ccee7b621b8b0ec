//! Subscriptions to one instance.

use std::io;
use std::sync::Arc;

use event_log::{Gap, Log, Read, Reader, Run};
use journal::Found;
use tokio::sync::watch;

use super::history::{Batch, History};
use super::pending::{Pending, UPDATE_BYTES, UPDATE_RUNS};
use crate::caller::Asker;
use crate::cursor::{JournalCursor, MessageCursor};
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::instance::{INPUT, Instance, InstanceJournal, Phase, ReaderGuard, State};
use crate::launcher::BoxFuture;
use crate::subscription::{From, Subscribe, Subscription, Update};

/// The most bytes that one read of the journal returns, except for a single longer event.
const HISTORY_BYTES: usize = 256 << 10;

/// The events that a subscription follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Messages,
    Journal,
}

impl View {
    /// True when a log of the instance's journal belongs to this view.
    const fn has(self, log: u8) -> bool {
        matches!(self, Self::Journal) || log != INPUT
    }

    /// Calls `read` with the logs of this view.
    fn logs<T>(self, state: &State, read: impl FnOnce(&[&Log]) -> T) -> T {
        match self {
            Self::Messages => read(&[&state.output]),
            Self::Journal => read(&[&state.output, &state.input]),
        }
    }
}

/// A subscription to one instance.
pub(super) struct InstanceSubscription {
    instance: Arc<Instance>,
    view: View,
    reader: Reader,
    changed: watch::Receiver<()>,
    only_answers_to: Option<Asker>,
    began_at: u64,
    /// Updates that come before what is read next, such as a gap and the requests that follow it.
    pending: Pending,
    /// Reads the events that the logs in memory no longer hold.
    history: History,
    /// What is looked up in the journal before anything is read.
    lookup: Lookup,
    /// Counts readers of messages. Readers of the journal are not counted: they never change what happens to
    /// an instance.
    _counted: Option<ReaderGuard>,
}

impl InstanceSubscription {
    /// Returns `None` if the process has ended and the cursor is after the last event.
    pub(super) fn open(instance: Arc<Instance>, subscribe: Subscribe) -> Result<Option<Self>, Error> {
        let Subscribe { from, only_answers_to } = subscribe;
        let (view, changed) = match from {
            From::Messages(_) => (View::Messages, instance.watch()),
            From::Journal(_) => (View::Journal, instance.watch_journal()),
        };
        let counted = (view == View::Messages).then(|| instance.attach());
        let state = instance.lock();
        if matches!(state.phase, Phase::Closing | Phase::Gone(_)) {
            return Err(state.refusal());
        }
        let newest = instance.shared.order.newest();
        let placed = match from {
            From::Messages(cursor) => place_in_messages(&instance, &state, cursor),
            From::Journal(cursor) => place_in_journal(&instance, &state, cursor, newest),
        };
        drop(state);
        Ok(placed.map(|Placed { reader, first, lookup }| Self {
            instance,
            view,
            reader,
            changed,
            only_answers_to,
            began_at: newest,
            pending: Pending::new(first),
            history: History::default(),
            lookup,
            _counted: counted,
        }))
    }

    /// Reads from memory what is available now.
    fn pull(&mut self) -> Pulled {
        if let Some(updates) = self.pending.take() {
            return Pulled::Updates(updates);
        }
        let (mut updates, mut bytes) = (Vec::new(), 0);
        let state = self.instance.lock();
        let visible = state.unwritten.visible_up_to();
        loop {
            let before = self.reader;
            let run = match self.view.logs(&state, |logs| self.reader.read(logs, visible)) {
                Read::Run(run) => run,
                Read::Gap(_) => {
                    self.reader = before;
                    if updates.is_empty() {
                        return Pulled::Behind { is_clean: state.unwritten.is_clean() };
                    }
                    break;
                }
                Read::Nothing => break,
            };
            // Stop only if there is something to deliver: a run that is filtered out completely must not end
            // this search.
            if !updates.is_empty() && (bytes + run.bytes() > UPDATE_BYTES || updates.len() >= UPDATE_RUNS) {
                self.reader = before;
                break;
            }
            bytes += run.bytes();
            self.deliver(&mut updates, run);
        }
        if updates.is_empty() { Pulled::Nothing } else { Pulled::Updates(updates) }
    }

    /// Adds those events of a run that this subscription follows.
    fn deliver(&self, updates: &mut Vec<Update>, run: Run) {
        match self.only_answers_to {
            Some(asker) => push_filtered(updates, &self.instance, &run, asker),
            None => updates.push(Update::Events { server_id: self.instance.id.clone(), run }),
        }
    }

    /// Reads what memory no longer holds. Returns `None` if the journal does not have it either.
    async fn read_history(&mut self) -> Option<Vec<Update>> {
        self.instance.journal.as_ref()?;
        let instance = Arc::clone(&self.instance);
        let open = move || match &instance.journal {
            Some(journal) => journal.reader(),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let read =
            self.history.read_after(self.reader.seen(), HISTORY_BYTES, &self.instance.shared, open).await;
        let Batch { found, last_order } = read
            .inspect_err(|error| {
                tracing::warn!(server_id = %self.instance.id, %error, "cannot read the journal");
            })
            .ok()??;
        let mut updates = Vec::new();
        for found in found {
            match found {
                Found::Records { log, run } => {
                    self.reader.pass(&run);
                    if self.view.has(log) {
                        self.deliver(&mut updates, run);
                    }
                }
                Found::Gap { next_order, next_sequence, .. } => {
                    let gap = self.reader.gap_until(next_order, next_sequence);
                    let state = self.instance.lock();
                    let after = if self.view == View::Messages { gap.after_sequence } else { 0 };
                    push_gap(&mut updates, &self.instance, &state, gap, after, next_sequence);
                }
                Found::Note { .. } => {}
            }
        }
        self.reader.move_to(last_order.max(self.reader.seen()));
        Some(updates)
    }

    /// Reports that events are lost, and continues after them.
    fn accept_gap(&mut self) -> Vec<Update> {
        let mut updates = Vec::new();
        let state = self.instance.lock();
        if let Read::Gap(gap) = self.view.logs(&state, |logs| self.reader.read(logs, u64::MAX)) {
            let after = if self.view == View::Messages { gap.after_sequence } else { 0 };
            push_gap(&mut updates, &self.instance, &state, gap, after, u64::MAX);
        }
        updates
    }

    /// Finds the position of a cursor that is older than the events in memory.
    async fn look_up(&mut self) {
        let Lookup::Sequence(sequence) = self.lookup else { return };
        let instance = Arc::clone(&self.instance);
        let found = tokio::task::spawn_blocking(move || {
            let journal = instance.journal.as_ref()?;
            journal.reader().ok()?.order_of_sequence(sequence).ok()?
        });
        let order = found.await.ok().flatten();
        if order.is_none()
            && let Some(journal) = &self.instance.journal
        {
            // The position is not in the journal either, so the reader continues at the oldest event.
            let next_sequence = journal.oldest_sequence().unwrap_or(sequence + 1);
            let gap = Gap { after_sequence: sequence, next_sequence, after_order: 0, next_order: 0 };
            let state = self.instance.lock();
            let mut updates = Vec::new();
            push_gap(&mut updates, &self.instance, &state, gap, sequence, next_sequence);
            drop(state);
            self.pending.extend(updates);
        }
        self.reader = Reader::behind(order.unwrap_or(0), sequence);
        self.lookup = Lookup::Nothing;
    }

    /// True if there will be no more events than those that can be read now.
    fn is_over(&self) -> bool {
        let state = self.instance.lock();
        matches!(state.phase, Phase::Exited(_) | Phase::Gone(_)) && state.unwritten.is_clean()
    }
}

/// The events that are available in memory.
enum Pulled {
    Updates(Vec<Update>),
    Nothing,
    /// The next events are not in memory. They may be in the journal, or on their way to it unless it `is_clean`.
    Behind {
        is_clean: bool,
    },
}

impl Subscription for InstanceSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Update>, Error>>> {
        Box::pin(async {
            self.look_up().await;
            loop {
                // Before reading the log, so that a change during the reading ends the wait below.
                self.changed.mark_unchanged();
                let is_over = self.is_over();
                match self.pull() {
                    Pulled::Updates(updates) => return Some(Ok(updates)),
                    Pulled::Behind { is_clean } => match self.read_history().await {
                        Some(updates) => {
                            self.pending.extend(updates);
                            continue;
                        }
                        None if is_clean => {
                            let gap = self.accept_gap();
                            self.pending.extend(gap);
                            continue;
                        }
                        None => {}
                    },
                    Pulled::Nothing => {}
                }
                if is_over || self.changed.changed().await.is_err() {
                    return None;
                }
            }
        })
    }

    fn began_at(&self) -> u64 {
        self.began_at
    }
}

/// Where a subscription starts.
struct Placed {
    reader: Reader,
    /// Updates that precede the events.
    first: Vec<Update>,
    lookup: Lookup,
}

/// A place to look up in the journal.
#[derive(Debug, Default, Clone, Copy)]
enum Lookup {
    #[default]
    Nothing,
    /// The position after the event with this sequence number.
    Sequence(u64),
}

/// Starts at the oldest event that is stored, in the journal if there is one.
fn place_at_oldest(instance: &Instance, state: &State, logs: &[&Log]) -> Placed {
    let mut first = Vec::new();
    let (reader, held_from) = match &instance.journal {
        Some(journal) => (
            Reader::behind(0, state.output.first_sequence() - 1),
            journal.oldest_sequence().unwrap_or(u64::MAX),
        ),
        None => (Reader::at_oldest(logs), u64::MAX),
    };
    push_retained(&mut first, instance, state, 0, held_from);
    Placed { reader, first, lookup: Lookup::Nothing }
}

fn place_in_messages(instance: &Instance, state: &State, cursor: MessageCursor) -> Option<Placed> {
    let log = &state.output;
    let at = |reader| Placed { reader, first: Vec::new(), lookup: Lookup::Nothing };
    Some(match cursor {
        MessageCursor::Newest => at(Reader::at_newest(&[log])),
        MessageCursor::Oldest => place_at_oldest(instance, state, &[log]),
        MessageCursor::After(sequence) => {
            if let Phase::Exited(ended) = &state.phase
                && sequence >= ended.sequence
            {
                return None;
            }
            match Reader::after_sequence(log, sequence) {
                Ok(reader) => at(reader),
                Err((reader, gap)) => {
                    let is_known = (log.first_sequence()..log.next_sequence()).contains(&sequence);
                    if is_known && instance.journal.is_some() {
                        return Some(Placed { lookup: Lookup::Sequence(sequence), ..at(reader) });
                    }
                    if instance.journal.is_some() {
                        let mut placed = place_at_oldest(instance, state, &[log]);
                        let next_sequence =
                            instance.journal.as_ref().and_then(InstanceJournal::oldest_sequence);
                        let gap = Gap { next_sequence: next_sequence.unwrap_or(gap.next_sequence), ..gap };
                        placed.first.insert(0, Update::Gap { server_id: Some(instance.id.clone()), gap });
                        return Some(placed);
                    }
                    let mut placed = at(reader);
                    push_gap(
                        &mut placed.first,
                        instance,
                        state,
                        gap,
                        if is_known { sequence } else { 0 },
                        u64::MAX,
                    );
                    placed
                }
            }
        }
    })
}

fn place_in_journal(
    instance: &Instance,
    state: &State,
    cursor: JournalCursor,
    newest: u64,
) -> Option<Placed> {
    let logs = [&state.output, &state.input];
    let at = |reader| Placed { reader, first: Vec::new(), lookup: Lookup::Nothing };
    Some(match cursor {
        JournalCursor::Newest => at(Reader::at_newest(&logs)),
        JournalCursor::Oldest => place_at_oldest(instance, state, &logs),
        JournalCursor::After(position) => {
            // A position that was never assigned is not the end: it is from another server, which is reported as a
            // gap.
            let is_end = (state.newest_position()..=newest).contains(&position);
            if is_end && matches!(state.phase, Phase::Exited(_)) {
                return None;
            }
            match Reader::after_order(&logs, position, newest) {
                Ok(reader) => at(reader),
                Err(_) if position <= newest && instance.journal.is_some() => {
                    at(Reader::behind(position, state.output.first_sequence() - 1))
                }
                Err((_, gap)) if instance.journal.is_some() => {
                    let mut placed = place_at_oldest(instance, state, &logs);
                    placed.first.insert(0, Update::Gap { server_id: Some(instance.id.clone()), gap });
                    placed
                }
                Err((reader, gap)) => {
                    let mut placed = at(reader);
                    push_gap(&mut placed.first, instance, state, gap, 0, u64::MAX);
                    placed
                }
            }
        }
    })
}

/// A gap, followed by the unanswered requests among the lost events.
fn push_gap(
    updates: &mut Vec<Update>,
    instance: &Instance,
    state: &State,
    gap: Gap,
    after: u64,
    before: u64,
) {
    updates.push(Update::Gap { server_id: Some(instance.id.clone()), gap });
    push_retained(updates, instance, state, after, before);
}

/// The unanswered requests between two sequence numbers that the log no longer holds.
pub(super) fn push_retained(
    updates: &mut Vec<Update>,
    instance: &Instance,
    state: &State,
    after: u64,
    before: u64,
) {
    for (sequence, request) in state.agent_requests.retained_between(after, before) {
        let (server_id, request) = (instance.id.clone(), request.clone());
        updates.push(Update::Retained { server_id, sequence, request });
    }
}

/// Adds the run without responses to other connections.
fn push_filtered(updates: &mut Vec<Update>, instance: &Instance, run: &event_log::Run, asker: Asker) {
    let is_wanted = |event: Event<'_>| match event.kind() {
        EventKind::Message(_) => event.asker().is_none_or(|other| other == asker),
        _ => true,
    };
    let wanted: Vec<bool> = run.records().map(|record| is_wanted(Event::new(record))).collect();
    for range in wanted_ranges(&wanted) {
        updates.push(Update::Events { server_id: instance.id.clone(), run: run.part(range) });
    }
}

/// The ranges of consecutive `true` values.
fn wanted_ranges(wanted: &[bool]) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, _) in wanted.iter().enumerate().filter(|(_, is_wanted)| **is_wanted) {
        match ranges.last_mut() {
            Some(last) if last.end == index => last.end += 1,
            _ => ranges.push(index..index + 1),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_events_stay_together() {
        assert_eq!(wanted_ranges(&[true, true, false, true, false]), [0..2, 3..4]);
        assert!(wanted_ranges(&[false]).is_empty());
    }
}

//! Subscriptions to one instance.

use std::sync::Arc;

use event_log::{Gap, Log, Read, Reader};
use tokio::sync::watch;

use crate::caller::Asker;
use crate::cursor::{JournalCursor, MessageCursor};
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::instance::{Instance, Phase, ReaderGuard, State};
use crate::launcher::BoxFuture;
use crate::subscription::{From, Subscribe, Subscription, Update};

/// The most bytes of events that one wait returns, except for a single longer event.
const UPDATE_BYTES: usize = 64 << 10;
/// The most small runs of events that one wait returns.
const UPDATE_RUNS: usize = 1024;

/// The events that a subscription follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Messages,
    Journal,
}

impl View {
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
    /// Updates that precede the events: a gap, and requests that the log no longer holds.
    first: Vec<Update>,
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
        Ok(placed.map(|(reader, first)| Self {
            instance,
            view,
            reader,
            changed,
            only_answers_to,
            began_at: newest,
            first,
            _counted: counted,
        }))
    }

    /// Returns the updates that are available now; `None` if there are none.
    fn pull(&mut self) -> Option<Vec<Update>> {
        if !self.first.is_empty() {
            return Some(std::mem::take(&mut self.first));
        }
        let (mut updates, mut bytes) = (Vec::new(), 0);
        let state = self.instance.lock();
        loop {
            let before = self.reader;
            let run = match self.view.logs(&state, |logs| self.reader.read(logs, u64::MAX)) {
                Read::Run(run) => run,
                Read::Gap(gap) => {
                    let after = if self.view == View::Messages { gap.after_sequence } else { 0 };
                    push_gap(&mut updates, &self.instance, &state, gap, after);
                    continue;
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
            match self.only_answers_to {
                Some(asker) => push_filtered(&mut updates, &self.instance, &run, asker),
                None => updates.push(Update::Events { server_id: self.instance.id.clone(), run }),
            }
        }
        (!updates.is_empty()).then_some(updates)
    }

    fn is_over(&self) -> bool {
        matches!(self.instance.lock().phase, Phase::Exited(_) | Phase::Gone(_))
    }
}

impl Subscription for InstanceSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Update>, Error>>> {
        Box::pin(async {
            loop {
                // Before reading the log, so that a change during the reading ends the wait below.
                self.changed.mark_unchanged();
                let is_over = self.is_over();
                if let Some(updates) = self.pull() {
                    return Some(Ok(updates));
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

fn place_in_messages(
    instance: &Instance,
    state: &State,
    cursor: MessageCursor,
) -> Option<(Reader, Vec<Update>)> {
    let (log, mut first) = (&state.output, Vec::new());
    let reader = match cursor {
        MessageCursor::Newest => Reader::at_newest(&[log]),
        MessageCursor::Oldest => {
            push_retained(&mut first, instance, state, 0);
            Reader::at_oldest(&[log])
        }
        MessageCursor::After(sequence) => {
            if let Phase::Exited(ended) = &state.phase
                && sequence >= ended.sequence
            {
                return None;
            }
            Reader::after_sequence(log, sequence).unwrap_or_else(|(reader, gap)| {
                let is_known = (log.first_sequence()..log.next_sequence()).contains(&sequence);
                push_gap(&mut first, instance, state, gap, if is_known { sequence } else { 0 });
                reader
            })
        }
    };
    Some((reader, first))
}

fn place_in_journal(
    instance: &Instance,
    state: &State,
    cursor: JournalCursor,
    newest: u64,
) -> Option<(Reader, Vec<Update>)> {
    let (logs, mut first) = ([&state.output, &state.input], Vec::new());
    let reader = match cursor {
        JournalCursor::Newest => Reader::at_newest(&logs),
        JournalCursor::Oldest => {
            push_retained(&mut first, instance, state, 0);
            Reader::at_oldest(&logs)
        }
        JournalCursor::After(position) => {
            // A position that was never drawn is not the end of the log: it is from another server, which is
            // reported as a gap.
            let is_end = (state.newest_position()..=newest).contains(&position);
            if is_end && matches!(state.phase, Phase::Exited(_)) {
                return None;
            }
            Reader::after_order(&logs, position, newest).unwrap_or_else(|(reader, gap)| {
                push_gap(&mut first, instance, state, gap, 0);
                reader
            })
        }
    };
    Some((reader, first))
}

/// Adds a gap, followed by the unanswered requests among the lost events.
fn push_gap(updates: &mut Vec<Update>, instance: &Instance, state: &State, gap: Gap, after: u64) {
    updates.push(Update::Gap { server_id: Some(instance.id.clone()), gap });
    push_retained(updates, instance, state, after);
}

/// Adds the unanswered requests that the log no longer holds.
pub(super) fn push_retained(updates: &mut Vec<Update>, instance: &Instance, state: &State, after: u64) {
    for (sequence, request) in state.agent_requests.retained_after(after) {
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

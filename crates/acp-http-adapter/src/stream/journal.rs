//! The journal of one instance: both directions in one order.

use std::sync::Arc;

use super::JournalCursor;
use super::feed::{Feed, Pull};
use crate::instance::{Instance, Phase, State};
use crate::log::{Entry, EventKind, Framer, Ring};
use crate::measures::StreamMeasures;

/// How much is put into one frame, but for a single event that is longer.
const FRAME_BYTES: usize = 64 << 10;

/// One watcher. It is not counted as a reader: watching never changes what happens to an instance.
#[derive(Debug)]
pub(crate) struct JournalFeed {
    instance: Arc<Instance>,
    /// The newest journal number that this watcher has.
    seen: u64,
    /// The newest journal number of all when it came; what follows is live.
    newest_at_start: u64,
    /// Whether the past before `seen` was asked for, so that its loss must be told.
    owed: bool,
    started: bool,
}

impl JournalFeed {
    pub(crate) fn new(instance: Arc<Instance>, cursor: JournalCursor) -> Self {
        let (seen, owed) = match cursor {
            JournalCursor::Oldest => (0, false),
            JournalCursor::Newest => (instance.shared.newest_journal(), true),
            JournalCursor::After(journal) => (journal, true),
        };
        let newest_at_start = instance.shared.newest_journal();
        Self { instance, seen, newest_at_start, owed, started: false }
    }
}

impl Feed for JournalFeed {
    fn pull(&mut self) -> Pull {
        let mut framer = Framer::default();
        let measures = &self.instance.shared.measures.journal;
        let (mut given, mut replayed) = (0, 0);
        let state = self.instance.lock();
        if !self.started {
            self.started = true;
            let ahead = self.seen > self.instance.shared.newest_journal();
            if ahead || (self.owed && is_lost(&state, self.seen)) {
                push_gap(&mut framer, &state, self.seen, measures);
                self.seen = if ahead { 0 } else { self.seen };
            } else if !self.owed {
                push_missed(&mut framer, &state, measures);
            }
        } else if is_lost(&state, self.seen) {
            push_gap(&mut framer, &state, self.seen, measures);
        }
        for entry in merged(&state, self.seen) {
            if framer.len() + entry.frame_length > FRAME_BYTES && !framer.is_empty() {
                break;
            }
            framer.push_journal(&entry);
            self.seen = entry.journal;
            given += 1;
            replayed += u64::from(entry.journal <= self.newest_at_start);
        }
        // What is lost from here on is lost to this watcher.
        self.seen = self.seen.max(lost(&state));
        if !framer.is_empty() {
            measures.gave(given, replayed);
            return Pull::Data(framer.finish());
        }
        match state.phase {
            Phase::Exited(_) | Phase::Gone(_) => Pull::End,
            Phase::Starting | Phase::Running | Phase::Closing => Pull::Wait,
        }
    }

    fn measures(&self) -> &StreamMeasures {
        &self.instance.shared.measures.journal
    }
}

/// The newest event, of either direction, that is no longer held.
pub(super) fn lost(state: &State) -> u64 {
    state.log.events.lost().journal.max(state.log.sent.lost().journal)
}

fn is_lost(state: &State, seen: u64) -> bool {
    lost(state) > seen
}

/// The events of both directions behind a journal number, in order.
pub(super) fn merged(state: &State, seen: u64) -> impl Iterator<Item = Entry<'_>> {
    let behind = |ring: &Ring| ring.after_journal(seen);
    let mut events = state.log.events.from(behind(&state.log.events)).peekable();
    let mut sent = state.log.sent.from(behind(&state.log.sent)).peekable();
    std::iter::from_fn(move || match (events.peek(), sent.peek()) {
        (Some(event), Some(message)) if message.journal < event.journal => sent.next(),
        (None, Some(_)) => sent.next(),
        _ => events.next(),
    })
}

fn push_gap(framer: &mut Framer, state: &State, after: u64, measures: &StreamMeasures) {
    measures.gaps.increment();
    let from = if lost(state) > after { after } else { 0 };
    let next = merged(state, from).next().map_or(0, |entry| entry.journal);
    framer.push_plain("gap", None, format!(r#"{{"after":{after},"next":{next}}}"#).as_bytes());
    push_missed(framer, state, measures);
}

/// The open requests that the log no longer holds. They have no place in the journal any more, so no cursor.
fn push_missed(framer: &mut Framer, state: &State, measures: &StreamMeasures) {
    for (_, data) in state.awaited.missed(0) {
        framer.push(EventKind::Message, None, data);
        measures.gave(1, 1);
    }
}

//! The stream of one instance: what its agent says.

use std::sync::Arc;

use bytes::Bytes;

use super::MessageCursor;
use super::feed::{Feed, Pull};
use crate::instance::{Instance, Phase, ReaderGuard, State};
use crate::log::{EventKind, Framer, Ring};
use crate::measures::StreamMeasures;

/// How much is copied into one frame at the most.
const FRAME_BYTES: usize = 64 << 10;
/// From this length on, a run of events is sent as the memory it stands in.
const SHARE_BYTES: usize = 8 << 10;

/// One reader.
#[derive(Debug)]
pub(crate) struct MessageFeed {
    instance: Arc<Instance>,
    /// The position in the log of what comes next.
    position: u64,
    /// The newest sequence number that this reader has, or said it has.
    seen: u64,
    /// Where live events begin: what stands before this was there when the reader came.
    live: u64,
    /// What is said before anything else.
    preface: Option<Bytes>,
    _counted: ReaderGuard,
}

impl MessageFeed {
    pub(crate) fn new(instance: Arc<Instance>, cursor: MessageCursor) -> Self {
        let guard = instance.attach();
        let ((position, seen, preface), live) = {
            let state = instance.lock();
            (place(&state, cursor, &instance.shared.measures.messages), state.log.events.end())
        };
        Self { instance, position, seen, live, preface, _counted: guard }
    }
}

fn place(state: &State, cursor: MessageCursor, measures: &StreamMeasures) -> (u64, u64, Option<Bytes>) {
    let log = &state.log;
    let (oldest, newest) = (log.events.first(), log.next_sequence - 1);
    match cursor {
        MessageCursor::Newest => (log.events.end(), newest, None),
        MessageCursor::Oldest => {
            let mut framer = Framer::default();
            push_missed(state, 0, &mut framer, measures);
            let seen = log.events.next_sequence(oldest).unwrap_or(log.next_sequence) - 1;
            (oldest, seen, some(framer))
        }
        MessageCursor::After(sequence) => {
            let in_this_life = (log.first_sequence..log.next_sequence).contains(&sequence);
            if in_this_life && !log.events.lost().is_after(sequence) {
                return (log.events.after_sequence(sequence), sequence, None);
            }
            let missed_after = if in_this_life { sequence } else { 0 };
            let (seen, preface) = tell_gap(state, sequence, missed_after, measures);
            (oldest, seen, Some(preface))
        }
    }
}

/// Says that what followed `after` is gone: the gap, then the open requests among it.
fn tell_gap(state: &State, after: u64, missed_after: u64, measures: &StreamMeasures) -> (u64, Bytes) {
    measures.gaps.increment();
    let log = &state.log;
    let next = log.events.next_sequence(log.events.first()).unwrap_or(log.next_sequence);
    let mut framer = Framer::default();
    framer.push_plain("gap", None, format!(r#"{{"after":{after},"next":{next}}}"#).as_bytes());
    push_missed(state, missed_after, &mut framer, measures);
    (next - 1, framer.finish())
}

fn push_missed(state: &State, after: u64, framer: &mut Framer, measures: &StreamMeasures) {
    for (event, data) in state.awaited.missed(after) {
        framer.push(EventKind::Message, Some(event), data);
        measures.gave(1, 1);
    }
}

fn some(framer: Framer) -> Option<Bytes> {
    (!framer.is_empty()).then(|| framer.finish())
}

impl Feed for MessageFeed {
    fn pull(&mut self) -> Pull {
        if let Some(preface) = self.preface.take() {
            return Pull::Data(preface);
        }
        let state = self.instance.lock();
        let measures = &self.instance.shared.measures.messages;
        if self.position < state.log.events.first() {
            let (seen, gap) = tell_gap(&state, self.seen, self.seen, measures);
            (self.position, self.seen) = (state.log.events.first(), seen);
            return Pull::Data(gap);
        }
        match gather(&state.log.events, self.position) {
            Some(gathered) => {
                measures.gave(gathered.count, self.live.saturating_sub(self.position).min(gathered.count));
                self.position += gathered.count;
                self.seen = gathered.sequence;
                Pull::Data(gathered.frames)
            }
            None if matches!(state.phase, Phase::Exited(_) | Phase::Gone(_)) => Pull::End,
            None => Pull::Wait,
        }
    }

    fn measures(&self) -> &StreamMeasures {
        &self.instance.shared.measures.messages
    }
}

struct Gathered {
    frames: Bytes,
    count: u64,
    sequence: u64,
}

/// Up to a frame's worth of events: a share in their own memory where many stand together, a copy where they are
/// small pieces.
fn gather(events: &Ring, position: u64) -> Option<Gathered> {
    let mut runs = events.runs_from(position).peekable();
    let mut copy = Framer::default();
    let (mut count, mut sequence) = (0, 0);
    while let Some(run) = runs.next() {
        if copy.is_empty() && (run.frames().len() >= SHARE_BYTES || runs.peek().is_none()) {
            return Some(Gathered { frames: run.share(), count: run.count, sequence: run.sequence });
        }
        if copy.len() + run.frames().len() > FRAME_BYTES {
            break;
        }
        copy.append(run.frames());
        (count, sequence) = (count + run.count, run.sequence);
    }
    (count > 0).then(|| Gathered { frames: copy.finish(), count, sequence })
}

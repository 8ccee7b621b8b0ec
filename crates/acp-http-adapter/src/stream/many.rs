//! Many instances on one connection, with one cursor for the whole.
//!
//! Every event of every instance has a number from one counter. A pull first reads that counter, then looks into
//! each instance: whatever was numbered up to then is found, because numbers are drawn under the same lock that
//! guards the log. So events come out in one order and any of their numbers is a cursor for all of them.

use std::collections::HashSet;
use std::sync::Arc;

use utoipa::ToSchema;

use super::feed::{Feed, Pull};
use super::journal::{lost, merged};
use super::{JournalCursor, Replay};
use crate::instance::{Instance, InstanceList, Phase, State};
use crate::log::{Entry, EventKind, Framer};
use crate::measures::StreamMeasures;
use crate::registry::{Change, ChangeKind, Registry};
use crate::server_id::ServerId;

/// How many events of one instance are looked at in one pull.
const EVENTS_PER_INSTANCE: usize = 256;
/// How much payload of one instance is looked at in one pull, but for a single event that is longer.
const BYTES_PER_INSTANCE: usize = 256 << 10;

/// Which instances are meant.
#[derive(Debug, Clone)]
pub(crate) enum Selection {
    /// All there are and will be.
    All,
    /// Those with these ids, now or later.
    These(HashSet<ServerId>),
}

impl Selection {
    pub(crate) fn has(&self, id: &ServerId) -> bool {
        match self {
            Self::All => true,
            Self::These(ids) => ids.contains(id),
        }
    }
}

/// Which events are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum View {
    /// What agents say.
    Messages,
    /// Both directions.
    Journal,
}

/// One watcher of many instances.
#[derive(Debug)]
pub(crate) struct ManyFeed {
    registry: Arc<Registry>,
    selection: Selection,
    view: View,
    /// Everything up to this number has been told.
    seen: u64,
    /// The newest number of all when it came; what follows is live.
    newest_at_start: u64,
    /// Whether the past was asked for from a cursor on, so that its loss must be told.
    owed: bool,
    started: bool,
    /// Comings and goings up to this number are no news: the list that is said first has them.
    known: u64,
    /// The instances followed, those that have left the registry included, until they are told to the end.
    followed: Vec<Arc<Instance>>,
}

/// Something to tell, with its place in the order.
struct Told {
    journal: u64,
    name: &'static str,
    data: Vec<u8>,
}

impl ManyFeed {
    pub(crate) fn new(
        registry: Arc<Registry>,
        selection: Selection,
        view: View,
        cursor: JournalCursor,
    ) -> Self {
        let (seen, owed) = match cursor {
            JournalCursor::Oldest => (0, false),
            JournalCursor::Newest => (registry.shared.newest_journal(), false),
            JournalCursor::After(journal) => (journal, true),
        };
        let newest_at_start = registry.shared.newest_journal();
        let followed = Vec::new();
        Self { registry, selection, view, seen, newest_at_start, owed, started: false, known: 0, followed }
    }

    pub(crate) fn cursor_of(
        headers: &http::HeaderMap,
        replay: Replay,
    ) -> Result<JournalCursor, http_edge::Problem> {
        JournalCursor::of(headers, replay)
    }

    /// The first thing said: what there is now, so that a watcher knows what it watches.
    fn greet(&mut self, framer: &mut Framer) {
        self.started = true;
        // Read before the list is made: what happens in between is told twice rather than not at all.
        self.known = if self.owed { self.seen } else { self.registry.shared.newest_journal() };
        let servers = self.registry.summaries(|id| self.selection.has(id));
        let list = serde_json::to_string(&InstanceList { servers }).unwrap_or_default();
        framer.push_plain("instances", None, list.as_bytes());
        if self.owed && self.seen > self.registry.shared.newest_journal() {
            // A cursor from another life of the server, with its clock ahead of this one's.
            framer.push_plain("gap", None, format!(r#"{{"after":{},"next":0}}"#, self.seen).as_bytes());
            self.measures().gaps.increment();
            self.seen = 0;
        }
    }

    /// Where this watcher stands in an instance that came and went, or just went, without being followed.
    fn missed_in(&self, change: &Change) -> Option<u64> {
        let ChangeKind::Closed { last_event } = change.kind else { return None };
        (last_event > self.seen && !self.follows(change)).then_some(self.seen)
    }

    fn follows(&self, change: &Change) -> bool {
        self.followed.iter().any(|held| held.id == change.server_id && held.life == change.life)
    }

    fn follow_all(&mut self) {
        for instance in self.registry.all() {
            if self.selection.has(&instance.id)
                && !self.followed.iter().any(|held| Arc::ptr_eq(held, &instance))
            {
                self.followed.push(instance);
            }
        }
    }
}

impl Feed for ManyFeed {
    fn pull(&mut self) -> Pull {
        let mut framer = Framer::default();
        if !self.started {
            self.greet(&mut framer);
        }
        let newest = self.registry.shared.newest_journal();
        self.follow_all();
        let (changes, some_forgotten) = self.registry.changes_after(self.seen);
        if some_forgotten && self.owed {
            self.measures().gaps.increment();
            framer.push_plain(
                "gap",
                None,
                format!(r#"{{"after":{},"next":{newest}}}"#, self.seen).as_bytes(),
            );
        }
        let mut told = Vec::new();
        // Where an instance had more than one pull takes, nobody is told anything behind that point yet.
        let mut limit = newest;
        for instance in &self.followed {
            let state = instance.lock();
            // A loss is told to whoever was here or gave a cursor, not to whoever only just came.
            if self.owed && lost_to(&state, self.view) > self.seen {
                push_gap(&mut framer, instance, &state, self.seen, self.measures());
            } else if !self.owed && self.seen == 0 {
                push_missed(&mut framer, instance, &state, self.measures());
            }
            limit = limit.min(collect(instance, &state, self.seen, self.view, newest, &mut told));
        }
        // Who starts at the oldest hears of the instances there are where they came, as who was here then did.
        let news = changes.iter().filter(|change| change.journal > self.known || self.follows(change));
        for change in news.filter(|change| self.selection.has(&change.server_id)) {
            if let Some(after) = self.missed_in(change) {
                told.push(tell_missed(change, after));
            }
            told.push(tell_change(change));
        }
        told.retain(|one| one.journal <= limit);
        told.sort_by_key(|one| one.journal);
        let (mut given, mut replayed) = (0, 0);
        for Told { journal, name, data } in &told {
            // A gap has no number of its own: a reader that is cut right behind it must hear it again.
            if *name == "gap" {
                framer.push_plain(name, None, data);
                self.measures().gaps.increment();
            } else {
                framer.push_cursor(name, *journal, data);
                given += 1;
                replayed += u64::from(*journal <= self.newest_at_start);
            }
        }
        self.measures().gave(given, replayed);
        self.seen = self.seen.max(limit);
        self.owed = true;
        let seen = self.seen;
        self.followed.retain(|instance| {
            let state = instance.lock();
            !matches!(state.phase, Phase::Gone(_)) || merged(&state, seen).next().is_some()
        });
        if !framer.is_empty() {
            Pull::Data(framer.finish())
        } else if limit < newest {
            // Only what this view does not show stood before the limit; look on at once.
            self.pull()
        } else if self.registry.is_stopping() && self.followed.is_empty() {
            Pull::End
        } else {
            Pull::Wait
        }
    }

    fn measures(&self) -> &StreamMeasures {
        &self.registry.shared.measures.many
    }
}

fn lost_to(state: &State, view: View) -> u64 {
    match view {
        View::Messages => state.log.events.lost().journal,
        View::Journal => lost(state),
    }
}

/// Collects an instance's events in `(seen, newest]`. Returns up to where they are complete.
fn collect(
    instance: &Instance,
    state: &State,
    seen: u64,
    view: View,
    newest: u64,
    told: &mut Vec<Told>,
) -> u64 {
    let (mut count, mut bytes) = (0, 0);
    let mut complete = seen;
    for entry in merged(state, seen).take_while(|entry| entry.journal <= newest) {
        if view == View::Messages && entry.kind == EventKind::Sent {
            continue;
        }
        if count == EVENTS_PER_INSTANCE || (count > 0 && bytes >= BYTES_PER_INSTANCE) {
            return complete;
        }
        told.push(Told { journal: entry.journal, name: entry.kind.name(), data: wrap(instance, &entry) });
        complete = entry.journal;
        count += 1;
        bytes += entry.frame_length;
    }
    newest
}

/// The payload with what tells it from those of other instances.
fn wrap(instance: &Instance, entry: &Entry<'_>) -> Vec<u8> {
    let data = entry.data;
    let mut wrapped = Vec::with_capacity(data.len() + 128);
    // A server id needs no escaping.
    wrapped.extend_from_slice(format!(r#"{{"serverId":"{}","#, instance.id).as_bytes());
    if entry.kind.is_numbered() {
        wrapped.extend_from_slice(format!(r#""event":{},"#, entry.sequence).as_bytes());
    }
    wrapped.extend_from_slice(format!(r#""atMs":{},"data":"#, entry.at_ms).as_bytes());
    wrapped.extend_from_slice(data);
    wrapped.push(b'}');
    wrapped
}

fn tell_change(change: &Change) -> Told {
    let name = match change.kind {
        ChangeKind::Opened => "opened",
        ChangeKind::Closed { .. } => "closed",
    };
    let data = serde_json::json!({"serverId": change.server_id.as_str(), "agent": &*change.agent});
    Told { journal: change.journal, name, data: data.to_string().into_bytes() }
}

/// Its events went with the instance; they stand before the word that it is closed, in place of its last one.
fn tell_missed(change: &Change, after: u64) -> Told {
    let data = format!(r#"{{"serverId":"{}","after":{after},"next":{}}}"#, change.server_id, change.journal);
    Told { journal: change.journal, name: "gap", data: data.into_bytes() }
}

fn push_gap(framer: &mut Framer, instance: &Instance, state: &State, after: u64, measures: &StreamMeasures) {
    measures.gaps.increment();
    let next = merged(state, after).next().map_or(0, |entry| entry.journal);
    let data = format!(r#"{{"serverId":"{}","after":{after},"next":{next}}}"#, instance.id);
    framer.push_plain("gap", None, data.as_bytes());
    push_missed(framer, instance, state, measures);
}

fn push_missed(framer: &mut Framer, instance: &Instance, state: &State, measures: &StreamMeasures) {
    for (event, data) in state.awaited.missed(0) {
        let mut wrapped = format!(r#"{{"serverId":"{}","event":{event},"data":"#, instance.id).into_bytes();
        wrapped.extend_from_slice(data);
        wrapped.push(b'}');
        framer.push(EventKind::Message, None, &wrapped);
        measures.gave(1, 1);
    }
}

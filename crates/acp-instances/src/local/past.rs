//! Closed instances, whose history is in the journal.

use std::sync::Arc;

use event_log::Gap;
use journal::{Found, Journal, StreamId, StreamInfo};

use super::history::{Batch, History};
use super::recover::Label;
use super::shared::Shared;
use crate::cursor::JournalCursor;
use crate::error::Error;
use crate::launcher::BoxFuture;
use crate::server_id::ServerId;
use crate::subscription::{Subscription, Update};
use crate::summary::{InstanceStatus, Summary};

/// How many bytes one read of the journal brings at most, except for an event that is longer.
const HISTORY_BYTES: usize = 256 << 10;

/// The newest closed instance of each name, in order of name.
pub(super) fn list(journal: &Journal) -> Vec<Summary> {
    let mut streams: Vec<_> = journal.streams().into_iter().filter(|stream| stream.is_closed).collect();
    streams.sort_by(|one, other| {
        (&one.id.name, other.id.first_sequence).cmp(&(&other.id.name, one.id.first_sequence))
    });
    streams.dedup_by(|later, kept| later.id.name == kept.id.name);
    streams.iter().filter_map(summary).collect()
}

fn summary(stream: &StreamInfo) -> Option<Summary> {
    let label = Label::read(&stream.label)?;
    Some(Summary {
        server_id: ServerId::parse(&stream.id.name).ok()?,
        agent: label.agent,
        status: InstanceStatus::Closed,
        pid: None,
        created_at_ms: label.created_at_ms,
        last_activity_ms: stream.last_at_ms,
        last_sequence: stream.last_sequence,
        client_requests: 0,
        agent_requests: Vec::new(),
        readers: None,
        exit: None,
        created_by: None,
    })
}

/// The newest closed instance of this name.
pub(super) fn find(journal: &Journal, server_id: &ServerId) -> Option<StreamInfo> {
    journal.find(server_id.as_str()).filter(|stream| stream.is_closed)
}

/// Deletes the journals of all closed instances with this name. Blocks.
pub(super) fn forget(journal: &Journal, server_id: &ServerId) -> Result<(), Error> {
    let is_meant = |stream: &StreamInfo| stream.is_closed && &*stream.id.name == server_id.as_str();
    for stream in journal.streams().into_iter().filter(is_meant) {
        journal.remove(&stream.id).map_err(|error| {
            tracing::warn!(%server_id, %error, "cannot delete the history of an instance");
            Error::internal("the history could not be deleted; see the log")
        })?;
    }
    Ok(())
}

/// Reads the history of a closed instance, both directions in one order, to its end.
pub(super) struct PastSubscription {
    journal: Journal,
    stream: StreamId,
    server_id: ServerId,
    shared: Arc<Shared>,
    history: History,
    /// The order number up to which everything is delivered.
    seen: u64,
}

impl PastSubscription {
    pub(super) fn open(
        journal: Journal,
        stream: StreamId,
        server_id: ServerId,
        from: JournalCursor,
        shared: Arc<Shared>,
    ) -> Self {
        let seen = match from {
            JournalCursor::Oldest => 0,
            JournalCursor::Newest => u64::MAX,
            JournalCursor::After(order) => order,
        };
        Self { journal, stream, server_id, shared, history: History::default(), seen }
    }
}

impl Subscription for PastSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Update>, Error>>> {
        Box::pin(async {
            loop {
                let (journal, stream) = (self.journal.clone(), self.stream.clone());
                let open = move || journal.reader(&stream);
                let Batch { found, last_order } =
                    match self.history.read_after(self.seen, HISTORY_BYTES, &self.shared, open).await {
                        Ok(batch) => batch?,
                        Err(error) => {
                            tracing::warn!(server_id = %self.server_id, %error, "cannot read the journal");
                            return Some(Err(Error::internal("the journal cannot be read; see the log")));
                        }
                    };
                self.seen = last_order;
                let updates: Vec<_> = found.into_iter().filter_map(|found| self.update(found)).collect();
                if !updates.is_empty() {
                    return Some(Ok(updates));
                }
            }
        })
    }

    fn began_at(&self) -> u64 {
        u64::MAX
    }
}

impl PastSubscription {
    fn update(&self, found: Found) -> Option<Update> {
        match found {
            Found::Records { run, .. } => Some(Update::Events { server_id: self.server_id.clone(), run }),
            Found::Gap { after_order, after_sequence, next_order, next_sequence } => {
                let gap = Gap { after_sequence, next_sequence, after_order, next_order };
                Some(Update::Gap { server_id: Some(self.server_id.clone()), gap })
            }
            Found::Note { .. } => None,
        }
    }
}

//! Restores the instances of an earlier server from its journal.
//!
//! Their processes ended with that server. So each instance is listed as exited: its events can be read, a repeated
//! message gets its outcome, and a request that names the agent starts it again.

use std::sync::Arc;

use bytes::Bytes;
use event_log::{MemoryAccount, Past};
use journal::{Journal, StreamInfo};
use serde::{Deserialize, Serialize};

use super::shared::Shared;
use crate::instance::{Identity, Instance, InstanceJournal, Replay};
use crate::server_id::ServerId;

/// The data about an instance in the label of its journal. Their format is part of the journal's format.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Label {
    pub(crate) agent: String,
    pub(crate) created_at_ms: u64,
}

impl Label {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub(crate) fn to_bytes(&self) -> Bytes {
        // The struct consists of text and a number, so serialising cannot fail.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

/// The instances of an earlier server that were not closed, newest first, at most so many. Older ones stay in the
/// journal as history. Blocks.
pub(super) fn recover(
    journal: &Journal,
    streams: Vec<StreamInfo>,
    shared: &Arc<Shared>,
    limit: usize,
) -> Vec<Arc<Instance>> {
    let mut open: Vec<_> = streams.into_iter().filter(|stream| !stream.is_closed).collect();
    open.sort_by_key(|stream| std::cmp::Reverse(stream.last_at_ms));
    let mut instances: Vec<Arc<Instance>> = Vec::new();
    for stream in open {
        let is_new_name = instances.iter().all(|instance| instance.id.as_str() != &*stream.id.name);
        if instances.len() >= limit || !is_new_name {
            close(journal, &stream, &shared.account);
            continue;
        }
        match recover_one(journal, &stream, shared) {
            Ok(instance) => instances.push(instance),
            Err(error) => tracing::warn!(
                server_id = &*stream.id.name, %error,
                "the journal of an instance cannot be continued; it stays as history"
            ),
        }
    }
    instances
}

fn close(journal: &Journal, stream: &StreamInfo, account: &Arc<MemoryAccount>) {
    let closed = journal.resume(&stream.id, account).and_then(|mut resumed| resumed.writer.close());
    if let Err(error) = closed {
        tracing::warn!(server_id = &*stream.id.name, %error, "cannot close the journal of an instance");
    }
}

fn recover_one(
    journal: &Journal,
    stream: &StreamInfo,
    shared: &Arc<Shared>,
) -> Result<Arc<Instance>, Box<dyn std::error::Error>> {
    let id = ServerId::parse(&stream.id.name)?;
    let label = Label::read(&stream.label).ok_or("it does not say which agent it is of")?;
    let identity = Identity {
        id,
        agent: label.agent.as_str().into(),
        created_by: None,
        first_sequence: stream.id.first_sequence,
        created_at_ms: label.created_at_ms,
    };
    let resumed = journal.resume(&stream.id, &shared.account)?;
    let past = Past {
        first_sequence: stream.id.first_sequence,
        last_order: stream.last_order,
        last_sequence: stream.last_sequence,
        is_numbered: stream.last_is_numbered,
    };
    let mut state = Instance::state(&identity, past, shared);
    state.last_activity_ms = stream.last_at_ms;
    state.unwritten.resume(stream.last_order);
    let mut replay = Replay::new(state);
    if let Some(checkpoint) = &resumed.checkpoint {
        replay.restore(checkpoint)?;
    }
    for entry in resumed.replay {
        replay.apply(&entry?);
    }
    let state = replay.finish();
    let journal =
        InstanceJournal::new(journal.clone(), stream.id.clone(), stream.label.clone(), Some(resumed.writer));
    Ok(Instance::with_state(identity, state, Some(journal), Arc::clone(shared)))
}

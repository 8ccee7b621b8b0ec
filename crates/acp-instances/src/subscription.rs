//! Following what happens to instances.

use std::collections::HashSet;

use bytes::Bytes;
use event_log::{Gap, Run};

use crate::caller::Asker;
use crate::cursor::{JournalCursor, MessageCursor};
use crate::error::Error;
use crate::launcher::BoxFuture;
use crate::server_id::ServerId;
use crate::summary::Summary;

/// A place to start from, with what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// What the agent says.
    Messages(MessageCursor),
    /// Both directions, in one order.
    Journal(JournalCursor),
}

/// What to follow of one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscribe {
    /// Which events, from where.
    pub from: From,
    /// Leave out answers to other callers that have a name.
    pub only_answers_to: Option<Asker>,
}

/// What to follow of many instances.
#[derive(Debug, Clone)]
pub struct SubscribeAll {
    /// Which instances, now and later.
    pub selection: Selection,
    /// True for both directions, false for what agents say.
    pub with_sent: bool,
    /// From where.
    pub from: JournalCursor,
}

/// Which instances are meant.
#[derive(Debug, Clone)]
pub enum Selection {
    /// All that exist and will exist.
    All,
    /// Those with these ids, now or later.
    These(HashSet<ServerId>),
}

impl Selection {
    /// True when an instance is meant.
    #[must_use]
    pub fn has(&self, id: &ServerId) -> bool {
        match self {
            Self::All => true,
            Self::These(ids) => ids.contains(id),
        }
    }
}

/// One piece of news, in the order in which it happened.
#[derive(Debug, Clone)]
pub enum Update {
    /// Events of one instance. They share the log's memory.
    Events {
        /// The instance.
        server_id: ServerId,
        /// The events; see [`crate::events`].
        run: Run,
    },
    /// An unanswered request of the agent that the log no longer holds. It is retained until it is answered.
    Retained {
        /// The instance.
        server_id: ServerId,
        /// The sequence number of the event that it was.
        sequence: u64,
        /// The request in the agent's own bytes.
        request: Bytes,
    },
    /// Events that this subscription was owed are gone.
    Gap {
        /// The instance; nothing where instances themselves came and went unseen.
        server_id: Option<ServerId>,
        /// Between which numbers.
        gap: Gap,
    },
    /// The instances as they are when a subscription to many starts.
    Instances(Vec<Summary>),
    /// An instance came or went.
    Change(InstanceChange),
}

/// An instance came or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceChange {
    /// Its place among the events of all instances.
    pub position: u64,
    /// The instance.
    pub server_id: ServerId,
    /// Its agent.
    pub agent: String,
    /// Which of the two.
    pub kind: ChangeKind,
}

/// See [`InstanceChange::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It came.
    Opened,
    /// It went.
    Closed,
}

/// Follows one or many instances, from a cursor of its own. A subscription that is not read slows nothing down; it is
/// told of a gap.
pub trait Subscription: Send {
    /// Waits for news, at least one piece; nothing when there will be no more. A wait that is dropped loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Update>, Error>>>;

    /// Events at positions up to this one happened before the subscription began.
    fn began_at(&self) -> u64;
}

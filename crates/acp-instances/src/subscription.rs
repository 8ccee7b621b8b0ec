//! Subscriptions to what happens to instances.

use std::collections::HashSet;

use bytes::Bytes;
use event_log::{Gap, Run};

use crate::caller::Asker;
use crate::cursor::{JournalCursor, MessageCursor};
use crate::error::Error;
use crate::launcher::BoxFuture;
use crate::server_id::ServerId;
use crate::summary::Summary;

/// Which events a subscription follows, and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The agent's messages.
    Messages(MessageCursor),
    /// Both directions (the journal), in one order.
    Journal(JournalCursor),
}

/// A subscription to one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscribe {
    /// Which events to follow, and from where.
    pub from: From,
    /// If set, leaves out responses that only other connections may receive.
    pub only_answers_to: Option<Asker>,
}

/// A subscription to many instances.
#[derive(Debug, Clone)]
pub struct SubscribeAll {
    /// Which instances to follow, including ones that are opened later.
    pub selection: Selection,
    /// True to follow both directions, false for only what agents send.
    pub with_sent: bool,
    /// Where to start.
    pub from: JournalCursor,
}

/// Selects instances.
#[derive(Debug, Clone)]
pub enum Selection {
    /// All instances, existing and future.
    All,
    /// The instances with these ids, existing and future.
    These(HashSet<ServerId>),
}

impl Selection {
    /// True if the instance is selected.
    #[must_use]
    pub fn has(&self, id: &ServerId) -> bool {
        match self {
            Self::All => true,
            Self::These(ids) => ids.contains(id),
        }
    }
}

/// One update, in the order in which things happened.
#[derive(Debug, Clone)]
pub enum Update {
    /// Events of one instance. They share the log's memory.
    Events {
        /// The instance.
        server_id: ServerId,
        /// The events; see [`crate::events`].
        run: Run,
    },
    /// An unanswered agent request that the log no longer holds. It is retained until a client answers it.
    Retained {
        /// The instance.
        server_id: ServerId,
        /// The sequence number of the event that carried the request.
        sequence: u64,
        /// The request in the agent's own bytes.
        request: Bytes,
    },
    /// Events that the subscription should have received were evicted.
    Gap {
        /// The instance; `None` if openings and closings of instances were missed.
        server_id: Option<ServerId>,
        /// The numbers between which events are missing.
        gap: Gap,
    },
    /// The instances that exist when a subscription to many instances starts.
    Instances(Vec<Summary>),
    /// An instance was opened or closed.
    Change(InstanceChange),
}

/// The opening or closing of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceChange {
    /// The change's place among the events of all instances.
    pub position: u64,
    /// The id of the instance.
    pub server_id: ServerId,
    /// The agent that the instance is bound to.
    pub agent: String,
    /// Whether the instance was opened or closed.
    pub kind: ChangeKind,
}

/// The kinds of changes; see [`InstanceChange::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The instance was opened.
    Opened,
    /// The instance was closed.
    Closed,
}

/// Follows one or many instances with a cursor of its own. A subscription that is not read slows nothing
/// down; it later receives a gap for what it missed.
pub trait Subscription: Send {
    /// Waits for updates and returns at least one; `None` if there will be no more. Dropping the future
    /// before it is ready loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Update>, Error>>>;

    /// The position at which the subscription began: events up to it happened before.
    fn began_at(&self) -> u64;
}

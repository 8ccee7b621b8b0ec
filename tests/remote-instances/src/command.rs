//! The commands from the near side to the far side, and their replies.

use std::time::Duration;

use acp_instances::{
    AgentRequest, CreateSpec, Error, FirstExchange, JournalCursor, Listing, Page, RequestId, SendRequest,
    ServerId, Settled, Shutdown, Subscribe, SubscribeAll, Summary, Watched,
};
use tokio::sync::{mpsc, oneshot};

use crate::wire::WireUpdate;

/// The channel for a reply. A caller that does not wait has dropped the other end.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// One call of the trait.
pub(crate) enum Command {
    Create(CreateSpec, Reply<Summary>),
    Get(ServerId, Reply<Summary>),
    List(Page, Reply<Listing>),
    /// The message is the only owner of its bytes. The far side copies and releases them.
    Send(SendRequest, Reply<WireReceipt>),
    Subscribe(ServerId, Subscribe, Reply<Option<WireSubscription>>),
    SubscribeAll(SubscribeAll, Reply<WireSubscription>),
    Watch(JournalCursor, Reply<mpsc::Receiver<Frame<Watched>>>),
    AgentRequests(ServerId, Reply<Vec<AgentRequest>>),
    FirstExchange(ServerId, Reply<FirstExchange>),
    Close(ServerId, Reply<()>),
    Forget(ServerId, Reply<()>),
    Shutdown(Shutdown, Reply<()>),
}

/// A receipt whose outcome arrives on a channel. When the near side drops its end, the far side drops the engine's
/// outcome.
pub(crate) struct WireReceipt {
    pub(crate) position: Option<u64>,
    pub(crate) assigned_id: Option<RequestId>,
    pub(crate) outcome: oneshot::Receiver<Settled>,
}

/// A subscription whose updates arrive on a channel. When the near side drops its end, the far side drops the
/// engine's subscription.
pub(crate) struct WireSubscription {
    pub(crate) began_at: u64,
    pub(crate) frames: mpsc::Receiver<Frame<Vec<WireUpdate>>>,
}

/// One item of a stream. If a channel closes before the end was reported, the far side is gone.
pub(crate) enum Frame<T> {
    Item(Result<T, Error>),
    End,
}

/// The error of every call when the far side is gone.
pub(crate) const fn unavailable() -> Error {
    Error::Unavailable { retry_after: Duration::from_secs(1) }
}

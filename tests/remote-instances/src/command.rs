//! What the near side asks of the far side, and how it is answered.

use std::time::Duration;

use acp_instances::{
    AgentRequest, CreateSpec, Error, FirstExchange, JournalCursor, Listing, Page, RequestId, SendRequest,
    ServerId, Settled, Shutdown, Subscribe, SubscribeAll, Summary, Watched,
};
use tokio::sync::{mpsc, oneshot};

use crate::wire::WireUpdate;

/// Where an answer goes. A caller that does not wait has dropped the other end.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// One call of the trait.
pub(crate) enum Command {
    Create(CreateSpec, Reply<Summary>),
    Get(ServerId, Reply<Summary>),
    List(Page, Reply<Listing>),
    /// The message is the only owner of its bytes. The far side copies them and lets go of them.
    Send(SendRequest, Reply<WireReceipt>),
    Subscribe(ServerId, Subscribe, Reply<Option<WireSubscription>>),
    SubscribeAll(SubscribeAll, Reply<WireSubscription>),
    Watch(JournalCursor, Reply<mpsc::Receiver<Frame<Watched>>>),
    AgentRequests(ServerId, Reply<Vec<AgentRequest>>),
    FirstExchange(ServerId, Reply<FirstExchange>),
    Close(ServerId, Reply<()>),
    Shutdown(Shutdown, Reply<()>),
}

/// A receipt whose outcome comes through a channel. The far side drops the engine's outcome when the near side drops
/// its end.
pub(crate) struct WireReceipt {
    pub(crate) position: Option<u64>,
    pub(crate) assigned_id: Option<RequestId>,
    pub(crate) outcome: oneshot::Receiver<Settled>,
}

/// A subscription whose news comes through a channel. The far side drops the engine's subscription when the near side
/// drops its end.
pub(crate) struct WireSubscription {
    pub(crate) began_at: u64,
    pub(crate) frames: mpsc::Receiver<Frame<Vec<WireUpdate>>>,
}

/// One item of a stream. A channel that closes before the end was reported means that the far side is gone.
pub(crate) enum Frame<T> {
    Item(Result<T, Error>),
    End,
}

/// What every call fails with when the far side is gone.
pub(crate) const fn unavailable() -> Error {
    Error::Unavailable { retry_after: Duration::from_secs(1) }
}

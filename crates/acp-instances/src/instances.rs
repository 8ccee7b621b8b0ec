//! The trait through which doors (transports such as HTTP) use the engine.

use std::fmt;

use event_log::{MemoryAccount, Reservation};
use std::sync::Arc;

use crate::caller::Caller;
use crate::cursor::JournalCursor;
use crate::error::Error;
use crate::launcher::BoxFuture;
use crate::message::{SendRequest, Sending};
use crate::server_id::ServerId;
use crate::subscription::{InstanceChange, Subscribe, SubscribeAll, Subscription};
use crate::summary::{AgentRequest, FirstExchange, Listing, Page, Summary};

/// Manages agent processes, their messages and their logs, keyed by server id. A door holds an `Arc<dyn
/// Instances>` and needs nothing else: [`crate::LocalInstances`] runs the processes on this machine, another
/// implementation may run them elsewhere.
///
/// Every call may fail with [`Error::Unavailable`].
pub trait Instances: fmt::Debug + Send + Sync + 'static {
    /// The memory account for request bodies that are being read and for answers that wait to be written.
    fn memory(&self) -> &Arc<MemoryAccount>;

    /// Reserves memory in this process's account before more of a body is read. If that account is full,
    /// older events may be evicted to make room.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if nothing is left to evict.
    fn reserve(&self, held: &mut Reservation, bytes: usize) -> Result<(), Error>;

    /// Creates an instance and starts its agent, or returns the one that exists.
    fn create(&self, spec: CreateSpec) -> BoxFuture<'_, Result<Summary, Error>>;

    /// Returns one instance.
    fn get<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<Summary, Error>>;

    /// Lists many instances, ordered by id, one page at a time.
    fn list(&self, page: Page) -> BoxFuture<'_, Result<Listing, Error>>;

    /// Sends a message to an agent. The receipt arrives once the message is accepted; from then on the
    /// message is forwarded even if the caller leaves. Messages keep their order if each receipt is awaited
    /// before the next message is sent. If the returned future is never polled, the message may not be sent.
    fn send(&self, request: SendRequest) -> Sending<'_>;

    /// Follows one instance. Returns `None` if its process has ended and the cursor is after the last event.
    fn subscribe<'a>(
        &'a self,
        server_id: &'a ServerId,
        subscribe: Subscribe,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Subscription>>, Error>>;

    /// Follows many instances with one subscription and one cursor.
    fn subscribe_all(&self, subscribe: SubscribeAll) -> BoxFuture<'_, Result<Box<dyn Subscription>, Error>>;

    /// Follows which instances are opened and closed.
    fn watch(&self, from: JournalCursor) -> BoxFuture<'_, Result<Box<dyn Watch>, Error>>;

    /// Returns the agent's unanswered requests, oldest first.
    fn agent_requests<'a>(
        &'a self,
        server_id: &'a ServerId,
    ) -> BoxFuture<'a, Result<Vec<AgentRequest>, Error>>;

    /// Returns the first request that the current process of an instance answered with a result.
    fn first_exchange<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<FirstExchange, Error>>;

    /// Ends an instance and its whole process tree. Returns when the tree is gone, or at once if there is no
    /// such instance. The closing continues to its end if the caller stops waiting. Fails with
    /// [`Error::StillRunning`] if processes cannot be ended; in this case the instance stays until they have ended.
    fn close<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>>;

    /// Deletes the history of closed instances of this name. Does nothing if there is none.
    fn forget<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>>;

    /// Accepts no further messages, and ends every instance or leaves it to another server.
    fn shutdown(&self, how: Shutdown) -> BoxFuture<'_, Result<(), Error>>;
}

/// An instance to create.
#[derive(Debug, Clone)]
pub struct CreateSpec {
    /// The id of the instance.
    pub server_id: ServerId,
    /// The agent to start; `None` for the launcher's default.
    pub agent: Option<String>,
    /// The client that creates the instance.
    pub caller: Caller,
}

/// What happens to the agents when the server shuts down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// The agents are ended.
    End,
    /// The agents continue under another server, if the implementation supports that.
    HandOver,
}

/// Follows which instances are opened and closed.
pub trait Watch: Send {
    /// Waits for the next change; `None` if there will be no more. Dropping the future before it is ready
    /// loses no change.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Watched, Error>>>;
}

/// What a [`Watch`] reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// An instance was opened or closed.
    Change(InstanceChange),
    /// Changes up to this position are no longer known. The caller has to list the instances again.
    Gap {
        /// The position.
        up_to: u64,
    },
}

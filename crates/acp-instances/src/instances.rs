//! The engine as doors see it.

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

/// Agent processes by name, with their messages and their log. A door holds an `Arc<dyn Instances>` and needs nothing
/// else: [`crate::LocalInstances`] runs the processes here, another implementation may reach them elsewhere.
///
/// Every call may fail with [`Error::Unavailable`].
pub trait Instances: fmt::Debug + Send + Sync + 'static {
    /// The account for bodies that are being read and for answers that wait to be written.
    fn memory(&self) -> &Arc<MemoryAccount>;

    /// Reserves memory before more of a body is read, in the account of this side. Where that account is full, older
    /// events may be evicted for it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when there is nothing left to evict.
    fn reserve(&self, held: &mut Reservation, bytes: usize) -> Result<(), Error>;

    /// Creates an instance and starts its agent, or returns the one that exists.
    fn create(&self, spec: CreateSpec) -> BoxFuture<'_, Result<Summary, Error>>;

    /// One instance.
    fn get<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<Summary, Error>>;

    /// Many instances, in order of id, one page at a time.
    fn list(&self, page: Page) -> BoxFuture<'_, Result<Listing, Error>>;

    /// Sends a message to an agent. The receipt comes once the message is accepted; from then on it is forwarded,
    /// whatever becomes of the caller. Messages keep their order when each receipt is awaited before the next message
    /// is sent. A future that is never polled may send nothing.
    fn send(&self, request: SendRequest) -> Sending<'_>;

    /// Follows one instance. Nothing when its process has ended and the cursor is behind the last event.
    fn subscribe<'a>(
        &'a self,
        server_id: &'a ServerId,
        subscribe: Subscribe,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Subscription>>, Error>>;

    /// Follows many instances on one subscription, with one cursor for all of them.
    fn subscribe_all(&self, subscribe: SubscribeAll) -> BoxFuture<'_, Result<Box<dyn Subscription>, Error>>;

    /// Follows which instances come and go.
    fn watch(&self, from: JournalCursor) -> BoxFuture<'_, Result<Box<dyn Watch>, Error>>;

    /// The agent's unanswered requests, oldest first.
    fn agent_requests<'a>(
        &'a self,
        server_id: &'a ServerId,
    ) -> BoxFuture<'a, Result<Vec<AgentRequest>, Error>>;

    /// The first request that the present process of an instance answered with a result.
    fn first_exchange<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<FirstExchange, Error>>;

    /// Ends an instance and its whole process tree. Returns when the tree is gone, at once when there is no such
    /// instance. It goes on to its end if the caller does not wait.
    fn close<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>>;

    /// Takes nothing more in, and ends every instance or leaves it to another server.
    fn shutdown(&self, how: Shutdown) -> BoxFuture<'_, Result<(), Error>>;
}

/// An instance to create.
#[derive(Debug, Clone)]
pub struct CreateSpec {
    /// Its name.
    pub server_id: ServerId,
    /// Its agent; nothing where the launcher has a default.
    pub agent: Option<String>,
    /// Who creates it.
    pub caller: Caller,
}

/// What becomes of the agents when the server shuts down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// They end.
    End,
    /// They live on under another server, where the implementation can do that.
    HandOver,
}

/// Follows which instances come and go.
pub trait Watch: Send {
    /// Waits for the next change; nothing when there will be no more. A wait that is dropped loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Watched, Error>>>;
}

/// What a watch reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// An instance came or went.
    Change(InstanceChange),
    /// Changes up to this position are no longer known. List the instances again.
    Gap {
        /// The position.
        up_to: u64,
    },
}

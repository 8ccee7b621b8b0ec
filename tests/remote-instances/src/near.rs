//! The near side of the channel, which a door (a transport such as HTTP) holds.

use std::sync::Arc;

use acp_instances::{
    AgentRequest, BoxFuture, CreateSpec, Error, FirstExchange, Instances, JournalCursor, Listing, Outcome,
    Page, Receipt, SendRequest, Sending, ServerId, Settled, Shutdown, Subscribe, SubscribeAll, Subscription,
    Summary, Watch,
};
use event_log::{MemoryAccount, Reservation};
use tokio::sync::{mpsc, oneshot};

use crate::command::{Command, Reply, WireReceipt, unavailable};
use crate::far::FarSide;
use crate::streams::{RemoteSubscription, RemoteWatch};

/// The maximum number of commands in transit.
const COMMANDS: usize = 64;
/// The near side's memory limit, as a fraction of the engine's and in addition to it: both sides are in one
/// process here, and the contract suite measures its memory against the engine's budget alone.
const MEMORY_SHARE: usize = 4;
/// The default maximum size of a client's message. The near side has room for one if the engine has.
const MAX_MESSAGE: usize = 32 << 20;

/// Instances that another task owns. Every call fails with [`Error::Unavailable`] once that task is gone.
#[derive(Debug)]
pub struct RemoteInstances {
    commands: mpsc::Sender<Command>,
    /// The memory account of the near side: for bodies that are being read, and events that a door (a transport such
    /// as HTTP) has not written yet.
    account: Arc<MemoryAccount>,
}

impl RemoteInstances {
    /// Creates both ends of a channel. The near side may hold `memory` bytes.
    #[must_use]
    pub fn pair(memory: usize) -> (Self, FarSide) {
        let (commands, receiver) = mpsc::channel(COMMANDS);
        (Self { commands, account: MemoryAccount::new(memory) }, FarSide::new(receiver))
    }

    /// Wraps an engine so that it is reached over a channel. Must be called inside a tokio runtime.
    #[must_use]
    pub fn over_channel(engine: Arc<dyn Instances>) -> Arc<dyn Instances> {
        let limit = engine.memory().limit();
        let (near, far) = Self::pair((limit / MEMORY_SHARE).max(limit.min(MAX_MESSAGE)));
        tokio::spawn(far.serve(engine));
        Arc::new(near)
    }

    async fn call<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| unavailable())?;
        answer.await.map_err(|_| unavailable())?
    }
}

impl Instances for RemoteInstances {
    fn memory(&self) -> &Arc<MemoryAccount> {
        &self.account
    }

    /// Cannot evict events to make room, since the logs are on the far side.
    fn reserve(&self, held: &mut Reservation, bytes: usize) -> Result<(), Error> {
        if held.grow(bytes) { Ok(()) } else { Err(Error::OutOfMemory) }
    }

    fn create(&self, spec: CreateSpec) -> BoxFuture<'_, Result<Summary, Error>> {
        Box::pin(self.call(|reply| Command::Create(spec, reply)))
    }

    fn get<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<Summary, Error>> {
        Box::pin(self.call(|reply| Command::Get(server_id.clone(), reply)))
    }

    fn list(&self, page: Page) -> BoxFuture<'_, Result<Listing, Error>> {
        Box::pin(self.call(|reply| Command::List(page, reply)))
    }

    fn send(&self, request: SendRequest) -> Sending<'_> {
        Sending::Waiting(Box::pin(async move {
            let sent = self.call(|reply| Command::Send(request, reply)).await?;
            let WireReceipt { position, assigned_id, outcome } = sent;
            Ok(Receipt { position, assigned_id, outcome: relay(outcome) })
        }))
    }

    fn subscribe<'a>(
        &'a self,
        server_id: &'a ServerId,
        subscribe: Subscribe,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Subscription>>, Error>> {
        Box::pin(async move {
            let opened = self.call(|reply| Command::Subscribe(server_id.clone(), subscribe, reply)).await?;
            Ok(opened.map(|opened| RemoteSubscription::boxed(opened, &self.account)))
        })
    }

    fn subscribe_all(&self, subscribe: SubscribeAll) -> BoxFuture<'_, Result<Box<dyn Subscription>, Error>> {
        Box::pin(async move {
            let opened = self.call(|reply| Command::SubscribeAll(subscribe, reply)).await?;
            Ok(RemoteSubscription::boxed(opened, &self.account))
        })
    }

    fn watch(&self, from: JournalCursor) -> BoxFuture<'_, Result<Box<dyn Watch>, Error>> {
        Box::pin(async move { self.call(|reply| Command::Watch(from, reply)).await.map(RemoteWatch::boxed) })
    }

    fn agent_requests<'a>(
        &'a self,
        server_id: &'a ServerId,
    ) -> BoxFuture<'a, Result<Vec<AgentRequest>, Error>> {
        Box::pin(self.call(|reply| Command::AgentRequests(server_id.clone(), reply)))
    }

    fn first_exchange<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<FirstExchange, Error>> {
        Box::pin(self.call(|reply| Command::FirstExchange(server_id.clone(), reply)))
    }

    fn forget<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.call(|reply| Command::Forget(server_id.clone(), reply)))
    }

    fn close<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.call(|reply| Command::Close(server_id.clone(), reply)))
    }

    fn shutdown(&self, how: Shutdown) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.call(move |reply| Command::Shutdown(how, reply)))
    }
}

/// The outcome that a door waits for. The task in between is needed because an [`Outcome`] treats a dropped sender
/// as a server bug, while here it means that the far side is unavailable.
fn relay(far: oneshot::Receiver<Settled>) -> Outcome {
    let (mut near, outcome) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            settled = far => {
                // A caller that is gone has dropped its end.
                let _ = near.send(settled.unwrap_or_else(|_| Err(unavailable())));
            }
            // Dropping the receiver tells the far side that no caller is waiting.
            () = near.closed() => {}
        }
    });
    Outcome::waiting(outcome)
}

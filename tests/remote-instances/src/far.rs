//! The far side: owns the engine and executes the near side's commands.

use std::future::Future;
use std::sync::Arc;

use acp_instances::{Error, Instances, Message, Receipt, SendRequest, Subscription, Watch, Watched};
use bytes::BytesMut;
use event_log::Reservation;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::command::{Command, Frame, Reply, WireReceipt, WireSubscription};
use crate::streams::feed;
use crate::wire::{copy_exchange, copy_settled};

/// How many items of a stream may be in transit. The next item is requested from the engine only when there is
/// room, so a slow reader delays only its own task, and receives a gap for events that are evicted in the meantime.
const STREAM_ITEMS: usize = 1;

/// The end of the channel that owns the engine.
#[derive(Debug)]
pub struct FarSide {
    commands: mpsc::Receiver<Command>,
}

impl FarSide {
    pub(crate) const fn new(commands: mpsc::Receiver<Command>) -> Self {
        Self { commands }
    }

    /// Executes commands, each in its own task, until the near side is gone. When this future is dropped, all of
    /// those tasks end with it.
    pub async fn serve(mut self, engine: Arc<dyn Instances>) {
        let mut tasks = JoinSet::new();
        loop {
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(command) => drop(tasks.spawn(execute(Arc::clone(&engine), command))),
                    None => break,
                },
                Some(_finished) = tasks.join_next() => {}
            }
        }
        // Accepted commands are finished; streams have ended with their readers.
        while tasks.join_next().await.is_some() {}
    }
}

async fn execute(engine: Arc<dyn Instances>, command: Command) {
    match command {
        Command::Create(spec, reply) => answer(reply, engine.create(spec)).await,
        Command::Get(id, reply) => answer(reply, engine.get(&id)).await,
        Command::List(page, reply) => answer(reply, engine.list(page)).await,
        Command::Send(request, reply) => send(&*engine, request, reply).await,
        Command::Subscribe(id, how, reply) => match engine.subscribe(&id, how).await {
            Ok(Some(subscription)) => {
                follow(subscription, |opened| reply.send(Ok(Some(opened))).is_ok()).await;
            }
            Ok(None) => drop(reply.send(Ok(None))),
            Err(error) => drop(reply.send(Err(error))),
        },
        Command::SubscribeAll(how, reply) => match engine.subscribe_all(how).await {
            Ok(subscription) => follow(subscription, |opened| reply.send(Ok(opened)).is_ok()).await,
            Err(error) => drop(reply.send(Err(error))),
        },
        Command::Watch(from, reply) => match engine.watch(from).await {
            Ok(opened) => watch(opened, reply).await,
            Err(error) => drop(reply.send(Err(error))),
        },
        Command::AgentRequests(id, reply) => answer(reply, engine.agent_requests(&id)).await,
        Command::FirstExchange(id, reply) => {
            answer(reply, async { engine.first_exchange(&id).await.map(copy_exchange) }).await;
        }
        Command::Close(id, reply) => answer(reply, engine.close(&id)).await,
        Command::Forget(id, reply) => answer(reply, engine.forget(&id)).await,
        Command::Shutdown(how, reply) => answer(reply, engine.shutdown(how)).await,
    }
}

async fn answer<T>(reply: Reply<T>, result: impl Future<Output = Result<T, Error>> + Send) {
    // A caller that does not wait for the answer has dropped its end.
    let _ = reply.send(result.await);
}

/// Sends a message to the engine, with a copy of its bytes that the far side makes. Waits until the message is settled
/// or its caller is gone.
async fn send(engine: &dyn Instances, request: SendRequest, reply: Reply<WireReceipt>) {
    let sent = match received(engine, request) {
        Ok(request) => engine.send(request).await,
        Err(error) => Err(error),
    };
    let Receipt { position, assigned_id, outcome } = match sent {
        Ok(receipt) => receipt,
        Err(error) => return drop(reply.send(Err(error))),
    };
    let (mut settled, receiver) = oneshot::channel();
    if reply.send(Ok(WireReceipt { position, assigned_id, outcome: receiver })).is_err() {
        return;
    }
    tokio::select! {
        result = outcome => drop(settled.send(copy_settled(result))),
        // Dropping the outcome tells the engine that no caller is waiting.
        () = settled.closed() => {}
    }
}

/// The request with a copy of its message that is charged to the engine's own account. The received message is
/// dropped, which releases the near side's memory.
fn received(engine: &dyn Instances, request: SendRequest) -> Result<SendRequest, Error> {
    let SendRequest { server_id, agent, message, delivery, key, ids, caller } = request;
    // One byte more, for the line feed that parsing appends.
    let length = message.bytes().len() + 1;
    let mut memory = Reservation::empty(engine.memory());
    engine.reserve(&mut memory, length)?;
    let mut bytes = BytesMut::with_capacity(length);
    bytes.extend_from_slice(message.bytes());
    drop(message);
    let message = Message::parse(bytes, memory)
        .map_err(|_| Error::internal("a message that was read on one side cannot be read on the other"))?;
    Ok(SendRequest { server_id, agent, message, delivery, key, ids, caller })
}

/// Hands over a subscription, and feeds it until it or its reader is gone.
async fn follow(subscription: Box<dyn Subscription>, hand_over: impl FnOnce(WireSubscription) -> bool) {
    let (sender, frames) = mpsc::channel(STREAM_ITEMS);
    if hand_over(WireSubscription { began_at: subscription.began_at(), frames }) {
        feed(subscription, sender).await;
    }
}

/// Hands over a watch, and feeds it until it or its reader is gone.
async fn watch(watch: Box<dyn Watch>, reply: Reply<mpsc::Receiver<Frame<Watched>>>) {
    let (sender, frames) = mpsc::channel(STREAM_ITEMS);
    if reply.send(Ok(frames)).is_ok() {
        feed(watch, sender).await;
    }
}

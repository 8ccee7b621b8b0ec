//! The implementation of the engine that runs the processes on this machine.

mod by_agent;
mod changes;
mod history;
mod metrics;
mod past;
mod pending;
mod recover;
mod registry;
mod shared;
mod subscribe;
mod subscribe_all;
mod watch;

use std::sync::Arc;

use ::metrics::Exposition;
use event_log::{MemoryAccount, Reservation};
use journal::{JournalStats, Opened, StreamInfo};

pub(crate) use self::by_agent::AgentSeries;
pub(crate) use self::metrics::PipeMetrics;
use self::past::PastSubscription;
pub(crate) use self::recover::Label;
use self::registry::{Registry, Target};
pub(crate) use self::shared::Shared;
use self::subscribe::InstanceSubscription;
use self::subscribe_all::AllSubscription;
use self::watch::ChangeWatch;
use crate::cursor::JournalCursor;
use crate::error::Error;
use crate::instance::{Admission, Incoming, Instance};
use crate::instances::{CreateSpec, Instances, Shutdown, Watch};
use crate::launcher::{BoxFuture, Launcher};
use crate::limits::Limits;
use crate::message::{Answer, Outcome, Receipt, SendRequest, Sending};
use crate::server_id::ServerId;
use crate::subscription::{From, Subscribe, SubscribeAll, Subscription};
use crate::summary::{AgentRequest, FirstExchange, Listing, Page, Summary};

/// The maximum number of instances in one page of a list.
const PAGE: usize = 1000;

/// A subscription to the history of an instance; `None` if the cursor is behind its last event.
type Past = Option<Box<dyn Subscription>>;

/// Instances whose processes run on this machine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LocalInstances(Arc<Registry>);

impl LocalInstances {
    /// Creates an engine without instances. Must be called inside a tokio runtime.
    #[must_use]
    pub fn new(limits: Limits, launcher: Arc<dyn Launcher>) -> Self {
        let registry = Registry::new(&Shared::new(limits, launcher, None));
        registry.close_idle_ones();
        Self(registry)
    }

    /// An engine that keeps everything in a journal, and goes on with the instances of the server that wrote it before.
    /// Must be created inside a tokio runtime. Blocks while it reads.
    #[must_use]
    pub fn with_journal(limits: Limits, launcher: Arc<dyn Launcher>, opened: Opened) -> Self {
        let Opened { journal, streams, .. } = opened;
        let registry = Registry::new(&Shared::new(limits, launcher, Some((journal, &streams))));
        registry.recover(streams);
        registry.close_idle_ones();
        Self(registry)
    }

    /// Writes the metrics of the engine. It briefly locks every instance, as listing does, and reads `/proc`,
    /// so call it on a thread that may block.
    pub fn expose(&self, text: &mut Exposition) {
        metrics::expose(&self.0, text);
    }

    /// The figures of the journal, and how many instances go on without it because it cannot be written. `None` without
    /// a journal. Blocks for a moment.
    #[must_use]
    pub fn journal(&self) -> Option<(JournalStats, u64)> {
        let shared = &self.0.shared;
        shared.journal.as_ref().map(|journal| (journal.stats(), shared.suspended_journals()))
    }

    /// The limits of this engine.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.shared.limits
    }

    fn find(&self, server_id: &ServerId) -> Result<Arc<Instance>, Error> {
        self.0.find(server_id).ok_or_else(|| Error::UnknownInstance { server_id: server_id.clone() })
    }

    /// The history of an instance that is gone. Only the view of both directions has it: for all others the instance is
    /// gone.
    fn subscribe_to_past(&self, server_id: &ServerId, subscribe: Subscribe) -> Option<Past> {
        let From::Journal(from) = subscribe.from else { return None };
        let journal = self.0.shared.journal.as_ref()?;
        let StreamInfo { id, last_order, .. } = past::find(journal, server_id)?;
        if matches!(from, JournalCursor::After(order) if order >= last_order) {
            return Some(None);
        }
        let shared = Arc::clone(&self.0.shared);
        let past = PastSubscription::open(journal.clone(), id, server_id.clone(), from, shared);
        Some(Some(Box::new(past)))
    }

    /// Sends a message that has to wait: for its agent to start, or for room in the queue.
    async fn send_slowly(&self, request: SendRequest) -> Result<Receipt, Error> {
        let instance = self.0.target(&target(&request)).await?;
        let admission = instance.try_enqueue(incoming(request))?;
        let admission = instance.settle(admission).await?;
        Ok(receipt(instance.acknowledge(admission).await))
    }
}

impl Instances for LocalInstances {
    fn memory(&self) -> &Arc<MemoryAccount> {
        &self.0.shared.account
    }

    fn reserve(&self, held: &mut Reservation, bytes: usize) -> Result<(), Error> {
        if held.grow(bytes) {
            return Ok(());
        }
        self.0.shared.make_room(bytes);
        if held.grow(bytes) { Ok(()) } else { Err(Error::OutOfMemory) }
    }

    fn create(&self, spec: CreateSpec) -> BoxFuture<'_, Result<Summary, Error>> {
        Box::pin(async move {
            let CreateSpec { server_id, agent, caller } = &spec;
            let agent = agent.as_deref();
            let to = Target { server_id, agent, is_request: true, key: None, caller };
            Ok(self.0.target(&to).await?.summary())
        })
    }

    fn get<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<Summary, Error>> {
        ready(self.find(server_id).map(|instance| instance.summary()))
    }

    fn list(&self, page: Page) -> BoxFuture<'_, Result<Listing, Error>> {
        let Page { only, after, limit, with_past } = page;
        let limit = if limit == 0 { PAGE } else { limit.min(PAGE) };
        let is_wanted = |id: &ServerId| {
            only.as_ref().is_none_or(|only| only.contains(id))
                && after.as_ref().is_none_or(|after| id > after)
        };
        let mut present = self.0.all();
        present.retain(|instance| is_wanted(&instance.id));
        let mut past = match &self.0.shared.journal {
            Some(journal) if with_past => past::list(journal),
            _ => Vec::new(),
        };
        let is_present = |id: &ServerId| present.binary_search_by(|instance| instance.id.cmp(id)).is_ok();
        past.retain(|summary| is_wanted(&summary.server_id) && !is_present(&summary.server_id));
        let count = present.len() + past.len();
        let mut instances: Vec<_> =
            present.iter().take(limit).map(|instance| instance.summary()).chain(past).collect();
        instances.sort_by(|one, other| one.server_id.cmp(&other.server_id));
        instances.truncate(limit);
        let next = instances.last().filter(|_| count > limit).map(|last| last.server_id.clone());
        ready(Ok(Listing { instances, next }))
    }

    fn send(&self, request: SendRequest) -> Sending<'_> {
        let instance = match self.0.find_target(&target(&request)) {
            Ok(Some(instance)) => instance,
            Ok(None) => return Sending::Waiting(Box::pin(self.send_slowly(request))),
            Err(error) => return Sending::Done(Some(Err(error))),
        };
        match instance.try_enqueue(incoming(request)) {
            Ok(Admission::NoRoom(waiting)) => {
                let enqueueing = instance.enqueue_when_there_is_room(*waiting);
                Sending::Waiting(Box::pin(async move {
                    let admission = enqueueing.await?;
                    Ok(receipt(instance.acknowledge(admission).await))
                }))
            }
            Ok(admission @ Admission::Enqueueing(_)) => Sending::Waiting(Box::pin(async move {
                let admission = instance.settle(admission).await?;
                Ok(receipt(instance.acknowledge(admission).await))
            })),
            Ok(admission) if instance.must_wait(&admission) => {
                Sending::Waiting(Box::pin(async move { Ok(receipt(instance.acknowledge(admission).await)) }))
            }
            admission => Sending::Done(Some(admission.map(receipt))),
        }
    }

    fn subscribe<'a>(
        &'a self,
        server_id: &'a ServerId,
        subscribe: Subscribe,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Subscription>>, Error>> {
        if self.0.find(server_id).is_none()
            && let Some(past) = self.subscribe_to_past(server_id, subscribe)
        {
            return ready(Ok(past));
        }
        let opened =
            self.find(server_id).and_then(|instance| InstanceSubscription::open(instance, subscribe));
        ready(opened.map(|opened| opened.map(|opened| Box::new(opened) as Box<dyn Subscription>)))
    }

    fn subscribe_all(&self, subscribe: SubscribeAll) -> BoxFuture<'_, Result<Box<dyn Subscription>, Error>> {
        ready(Ok(Box::new(AllSubscription::open(Arc::clone(&self.0), subscribe)) as Box<dyn Subscription>))
    }

    fn watch(&self, from: JournalCursor) -> BoxFuture<'_, Result<Box<dyn Watch>, Error>> {
        ready(Ok(Box::new(ChangeWatch::open(Arc::clone(&self.0), from)) as Box<dyn Watch>))
    }

    fn agent_requests<'a>(
        &'a self,
        server_id: &'a ServerId,
    ) -> BoxFuture<'a, Result<Vec<AgentRequest>, Error>> {
        ready(self.find(server_id).map(|instance| instance.lock().agent_requests.list()))
    }

    fn first_exchange<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<FirstExchange, Error>> {
        ready(self.find(server_id).map(|instance| {
            let state = instance.lock();
            state.first_exchange.describe(&state.client_requests)
        }))
    }

    fn close<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>> {
        let Some(instance) = self.0.find(server_id) else { return ready(Ok(())) };
        self.0.begin_close(&instance);
        Box::pin(async move {
            if let Err(error) = instance.wait_until_finished().await {
                instance.fail_waiting();
                return Err(error);
            }
            self.0.remove(&instance);
            instance.close_journal().await;
            Ok(())
        })
    }

    fn forget<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>> {
        let Some(journal) = self.0.shared.journal.clone() else { return ready(Ok(())) };
        let server_id = server_id.clone();
        let forgetting = tokio::task::spawn_blocking(move || past::forget(&journal, &server_id));
        Box::pin(async {
            forgetting.await.unwrap_or_else(|_| Err(Error::internal("deleting the history went wrong")))
        })
    }

    fn shutdown(&self, how: Shutdown) -> BoxFuture<'_, Result<(), Error>> {
        match how {
            Shutdown::End => Box::pin(async {
                self.0.shut_down().await;
                Ok(())
            }),
            Shutdown::HandOver => {
                ready(Err(Error::Unsupported { what: "handing agents over to another server".into() }))
            }
        }
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

fn target(request: &SendRequest) -> Target<'_> {
    Target {
        server_id: &request.server_id,
        agent: request.agent.as_deref(),
        is_request: request.message.is_request(),
        key: request.key.as_ref(),
        caller: &request.caller,
    }
}

fn incoming(request: SendRequest) -> Incoming {
    let SendRequest { message, delivery, key, ids, caller, .. } = request;
    Incoming { message, delivery, key, ids, asker: caller.asker }
}

fn receipt(admission: Admission) -> Receipt {
    let outcome = |waiter: Option<_>| match waiter {
        Some(waiter) => Outcome::waiting(waiter),
        None => Outcome::settled(Ok(Answer::Accepted)),
    };
    match admission {
        Admission::Admitted { position, assigned_id, waiter, .. } => {
            Receipt { position: Some(position), assigned_id, outcome: outcome(waiter) }
        }
        Admission::Repeated(waiter) => {
            Receipt { position: None, assigned_id: None, outcome: outcome(waiter) }
        }
        Admission::Settled(settled) => {
            Receipt { position: None, assigned_id: None, outcome: Outcome::settled(settled) }
        }
        Admission::NoRoom(_) | Admission::Enqueueing(_) | Admission::Stored(_) => {
            let error = Error::internal("the message was neither accepted nor refused");
            Receipt { position: None, assigned_id: None, outcome: Outcome::settled(Err(error)) }
        }
    }
}

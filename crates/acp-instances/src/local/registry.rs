//! The registry of all instances of one engine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use journal::StreamInfo;

use super::changes::Changes;
use super::recover::recover;
use super::shared::Shared;
use crate::caller::Caller;
use crate::clock::{now_ms, now_us};
use crate::error::Error;
use crate::idempotency::IdempotencyKey;
use crate::instance::{self, CloseReason, Identity, Instance, Phase};
use crate::server_id::ServerId;
use crate::subscription::ChangeKind;

/// When memory runs out, the limit divided by this number is freed beyond what is needed, so that searching
/// is not repeated for each message.
const EVICTION_MARGIN_DIVISOR: usize = 32;
/// This part of the limit may be events that are evicted, but that slow readers still hold.
const READERS_DIVISOR: usize = 4;
/// The most memory that one read of an agent's output takes. Eviction frees memory in units of whole reads.
const ONE_READ: usize = 4 << 20;

/// All instances of one engine, keyed by id.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) shared: Arc<Shared>,
    /// Locked for look-ups only, never while an instance does anything.
    instances: RwLock<HashMap<ServerId, Arc<Instance>>>,
    pub(super) changes: Changes,
    /// New instances get sequence numbers from here on, so that the numbers of an id also grow when the id is
    /// used again.
    sequence_floor: AtomicU64,
    shutting_down: AtomicBool,
    /// Locked by the one caller that evicts, so that only one search for memory runs at a time.
    evicting: Mutex<()>,
}

impl Registry {
    pub(crate) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        let registry = Arc::new(Self {
            shared: Arc::clone(shared),
            instances: RwLock::default(),
            changes: Changes::default(),
            sequence_floor: AtomicU64::new(0),
            shutting_down: AtomicBool::new(false),
            evicting: Mutex::default(),
        });
        shared.set_registry(&registry);
        registry
    }

    /// Lists the instances of an earlier server.
    pub(crate) fn recover(&self, streams: Vec<StreamInfo>) {
        let Some(journal) = &self.shared.journal else { return };
        let newest = streams.iter().map(|stream| stream.last_sequence + 1).max().unwrap_or(0);
        self.sequence_floor.fetch_max(newest, Ordering::Relaxed);
        // The other half of the limit is for new instances.
        let limit = self.shared.limits.max_instances / 2;
        let recovered = recover(journal, streams, &self.shared, limit);
        let mut instances = self.instances.write().unwrap_or_else(PoisonError::into_inner);
        for instance in recovered {
            instance.commit();
            instances.insert(instance.id.clone(), instance);
        }
    }

    pub(crate) fn find(&self, id: &ServerId) -> Option<Arc<Instance>> {
        self.instances.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Every instance, ordered by id.
    pub(crate) fn all(&self) -> Vec<Arc<Instance>> {
        let mut all: Vec<_> =
            self.instances.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    /// Returns the instance that a message goes to: the existing one, or a new one.
    pub(crate) async fn target(&self, to: &Target<'_>) -> Result<Arc<Instance>, Error> {
        if let Some(instance) = self.find_target(to)? {
            return Ok(instance);
        }
        let launcher = &self.shared.launcher;
        let agent = to.agent.or(launcher.default_agent());
        let agent = agent.ok_or_else(|| Error::AgentRequired { server_id: to.server_id.clone() })?;
        let agent = launcher.resolve(agent, to.caller).await.map_err(Error::NotStarted)?;
        self.find_or_open(to.server_id, &agent, to.caller)
    }

    /// Returns the instance that a message goes to, if it exists. A request restarts an agent that has ended.
    pub(crate) fn find_target(&self, to: &Target<'_>) -> Result<Option<Arc<Instance>>, Error> {
        if self.is_shutting_down() {
            return Err(Error::ShuttingDown);
        }
        let Some(instance) = self.find(to.server_id) else { return Ok(None) };
        check_agent(&instance, to.agent)?;
        restart_if_wanted(&instance, to);
        Ok(Some(instance))
    }

    fn find_or_open(&self, id: &ServerId, agent: &str, caller: &Caller) -> Result<Arc<Instance>, Error> {
        let mut instances = self.instances.write().unwrap_or_else(PoisonError::into_inner);
        if self.is_shutting_down() {
            return Err(Error::ShuttingDown);
        }
        if let Some(instance) = instances.get(id) {
            check_agent(instance, Some(agent))?;
            return Ok(Arc::clone(instance));
        }
        if instances.len() >= self.shared.limits.max_instances {
            return Err(Error::TooManyInstances { existing: instances.len() });
        }
        let first_sequence = now_us().max(self.sequence_floor.load(Ordering::Relaxed));
        let identity = Identity {
            id: id.clone(),
            agent: agent.into(),
            created_by: caller.subject.clone(),
            first_sequence,
            created_at_ms: now_ms(),
        };
        let instance = Instance::new(identity, Arc::clone(&self.shared));
        instances.insert(id.clone(), Arc::clone(&instance));
        self.changes.note(&instance, ChangeKind::Opened, 0, &self.shared.order);
        drop(instances);
        instance::start(&instance);
        self.shared.announce();
        Ok(instance)
    }

    /// Closes an instance in a separate task, which runs to its end whether or not a caller waits for it.
    pub(crate) fn begin_close(self: &Arc<Self>, instance: &Arc<Instance>) {
        let is_closing = instance.is_closing();
        instance.begin_close(CloseReason::Requested);
        // Start only one task, although a client may send DELETE repeatedly while a process cannot be ended.
        if !is_closing {
            let (registry, instance) = (Arc::clone(self), Arc::clone(instance));
            tokio::spawn(async move { registry.close(&instance, CloseReason::Requested).await });
        }
    }

    /// Closes an instance and removes it. Returns when its process tree is gone.
    pub(crate) async fn close(&self, instance: &Arc<Instance>, reason: CloseReason) {
        instance.close(reason).await;
        self.remove(instance);
        // After a shutdown, the next server lists the instance again.
        if reason == CloseReason::Requested {
            instance.close_journal().await;
        }
    }

    /// Removes an instance from the registry, unless another instance has taken its id.
    pub(crate) fn remove(&self, instance: &Instance) {
        let (next, last_position) = {
            let state = instance.lock();
            (state.output.next_sequence(), state.newest_position())
        };
        self.sequence_floor.fetch_max(next, Ordering::Relaxed);
        let mut instances = self.instances.write().unwrap_or_else(PoisonError::into_inner);
        if instances.get(&instance.id).is_some_and(|held| std::ptr::eq(&raw const **held, instance)) {
            instances.remove(&instance.id);
            self.changes.note(instance, ChangeKind::Closed, last_position, &self.shared.order);
        }
        drop(instances);
        self.shared.announce();
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down.load(Ordering::SeqCst)
    }

    /// Accepts nothing more, and ends all instances concurrently.
    pub(crate) async fn shut_down(&self) {
        {
            // Set under the lock, so that no instance can be opened after this.
            let _instances = self.instances.write().unwrap_or_else(PoisonError::into_inner);
            self.shutting_down.store(true, Ordering::SeqCst);
        }
        let closing = self.all().into_iter().map(|instance| async move {
            self.close(&instance, CloseReason::ShutDown).await;
        });
        futures_util::future::join_all(closing).await;
        // Also wake watches, in case there was no instance whose end would wake them.
        self.shared.announce();
    }

    /// Evicts the oldest events of all instances until `bytes` more fit into the account. What readers hold is not given
    /// back by that: they may hold some of the budget, and all of it that is left only where nothing else needs it.
    pub(crate) fn make_room(&self, bytes: usize) {
        let Ok(_one_at_a_time) = self.evicting.try_lock() else { return };
        let account = &self.shared.account;
        let too_much = account.detached().saturating_sub(account.limit() / READERS_DIVISOR);
        let returning = if too_much > 0 { account.relieve(too_much.min(account.excess(bytes))) } else { 0 };
        // What is on its way back need not be evicted.
        self.evict_oldest(bytes, returning.min(too_much));
        let missing = account.excess(bytes);
        if missing > 0 {
            account.relieve(missing);
        }
    }

    fn evict_oldest(&self, bytes: usize, returning: usize) {
        let account = &self.shared.account;
        let excess = || account.excess(bytes).saturating_sub(returning);
        let margin = account.limit() / EVICTION_MARGIN_DIVISOR;
        // What a slow reader holds is not given back by evicting it. So one call evicts about as much as is needed, and
        // does not clear the history of all instances in vain.
        let mut allowed = 2 * excess() + margin + ONE_READ;
        while excess() > 0 && allowed > 0 {
            let oldest = self
                .all()
                .into_iter()
                .filter_map(|instance| {
                    let age = instance.lock().oldest_evictable()?;
                    Some((age, instance))
                })
                .min_by_key(|(age, _)| *age);
            let Some((_, instance)) = oldest else { return };
            let step = (excess() + margin).min(margin.max(1));
            let evicted = instance.lock().evict(step);
            allowed = allowed.saturating_sub(evicted.max(1));
        }
    }

    /// Closes idle instances until the registry is dropped.
    pub(crate) fn close_idle_ones(self: &Arc<Self>) {
        let Some(timeout) = self.shared.limits.instance_idle_timeout else { return };
        let registry = Arc::downgrade(self);
        let every = (timeout / 4).clamp(Duration::from_millis(50), Duration::from_secs(10));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(registry) = registry.upgrade() else { return };
                for instance in registry.all() {
                    if instance
                        .idle_for_ms(now_ms())
                        .is_some_and(|idle| u128::from(idle) >= timeout.as_millis())
                    {
                        tracing::info!(server_id = %instance.id, "closing an idle instance");
                        let registry = Arc::clone(&registry);
                        tokio::spawn(async move { registry.close(&instance, CloseReason::Requested).await });
                    }
                }
            }
        });
    }
}

/// The destination of a message, and the properties of the message that decide on it.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) server_id: &'a ServerId,
    pub(crate) agent: Option<&'a str>,
    /// True for requests: only they restart an agent that has ended.
    pub(crate) is_request: bool,
    /// The message's idempotency key: a repeated message never restarts an agent.
    pub(crate) key: Option<&'a IdempotencyKey>,
    pub(crate) caller: &'a Caller,
}

fn check_agent(instance: &Instance, agent: Option<&str>) -> Result<(), Error> {
    match agent {
        Some(agent) if !instance.shared.launcher.is_same(&instance.agent, agent) => {
            Err(Error::AgentMismatch {
                server_id: instance.id.clone(),
                bound: instance.agent.to_string(),
                named: agent.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

fn restart_if_wanted(instance: &Arc<Instance>, to: &Target<'_>) {
    let is_named = to.agent.or(instance.shared.launcher.default_agent()).is_some();
    if !is_named || !to.is_request {
        return;
    }
    let mut state = instance.lock();
    let is_repeat = to.key.is_some_and(|key| !matches!(state.keys.recall(key), Ok(None)));
    if matches!(state.phase, Phase::Exited(_)) && !is_repeat {
        state.restart();
        drop(state);
        instance.shared.metrics.agents.restarts.increment();
        tracing::info!(server_id = %instance.id, agent = %instance.agent, "starting the agent again");
        instance::start(instance);
    }
}

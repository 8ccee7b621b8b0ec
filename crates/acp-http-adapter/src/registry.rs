//! All instances of one bridge.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use http_edge::{Code, Problem};

use crate::clock::{now_ms, now_us};
use crate::exit_record::ExitRecord;
use crate::idempotency::IdempotencyKey;
use crate::instance::{self, CloseReason, Instance, Phase, Summary};
use crate::server_id::ServerId;
use crate::shared::Shared;

/// How many comings and goings are remembered for readers of many instances that were away.
const REMEMBERED_CHANGES: usize = 4096;
/// When memory runs out, this much more than needed is freed, so that the search pays off.
const SHRINK_MARGIN_DIVISOR: usize = 32;

/// An instance came or went.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// Its place among all events of all instances.
    pub(crate) journal: u64,
    pub(crate) server_id: ServerId,
    pub(crate) agent: Arc<str>,
    /// Tells this life of the id from others: the number of its first event.
    pub(crate) life: u64,
    pub(crate) kind: ChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Opened,
    Closed {
        /// The newest of its events, which went with it.
        last_event: u64,
    },
}

/// The comings and goings that are still remembered.
#[derive(Debug, Default)]
struct Changes {
    recent: VecDeque<Change>,
    /// The journal number of the newest one that is not.
    forgotten: u64,
}

/// Which instances there are.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) shared: Arc<Shared>,
    /// Held for look-ups only, never while an instance does anything.
    instances: RwLock<HashMap<ServerId, Arc<Instance>>>,
    changes: Mutex<Changes>,
    /// No new instance starts below this number, so that numbers of one id grow over its lives.
    sequence_floor: AtomicU64,
    stopping: AtomicBool,
    /// Only one search for memory at a time.
    shrinking: Mutex<()>,
}

impl Registry {
    pub(crate) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        let registry = Arc::new(Self {
            shared: Arc::clone(shared),
            instances: RwLock::default(),
            changes: Mutex::default(),
            sequence_floor: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            shrinking: Mutex::default(),
        });
        // Set once, right here.
        let _ = shared.registry.set(Arc::downgrade(&registry));
        registry
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Instance>> {
        self.instances.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Every instance, in order of id.
    pub(crate) fn all(&self) -> Vec<Arc<Instance>> {
        let mut all: Vec<_> =
            self.instances.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    pub(crate) fn summaries(&self, is_wanted: impl Fn(&ServerId) -> bool) -> Vec<Summary> {
        self.all()
            .iter()
            .filter(|instance| is_wanted(&instance.id))
            .map(|instance| instance.summary())
            .collect()
    }

    /// The instance that a message goes to: the one there is, or a new one.
    pub(crate) async fn target(
        &self,
        id: &str,
        agent: Option<&str>,
        message: &Arriving<'_>,
    ) -> Result<Arc<Instance>, Problem> {
        if let Some(instance) = self.find_target(id, agent, message)? {
            return Ok(instance);
        }
        let agent = agent.or(self.shared.launcher.default_agent()).ok_or_else(|| {
            Problem::new(
                Code::AgentRequired,
                format!("no instance has the id {id}; name the agent to start with ?agent="),
            )
        })?;
        let agent = self.shared.launcher.resolve(agent).await?;
        self.find_or_open(&ServerId::parse(id)?, &agent)
    }

    /// The instance that a message goes to, if there is one.
    pub(crate) fn find_target(
        &self,
        id: &str,
        agent: Option<&str>,
        message: &Arriving<'_>,
    ) -> Result<Option<Arc<Instance>>, Problem> {
        if self.is_stopping() {
            return Err(ExitRecord::stopping());
        }
        let Some(instance) = self.find(id) else { return Ok(None) };
        check_agent(&instance, agent)?;
        restart_if_wanted(&instance, agent, message);
        Ok(Some(instance))
    }

    fn find_or_open(&self, id: &ServerId, agent: &str) -> Result<Arc<Instance>, Problem> {
        let mut instances = self.instances.write().unwrap_or_else(PoisonError::into_inner);
        if self.is_stopping() {
            return Err(ExitRecord::stopping());
        }
        if let Some(instance) = instances.get(id) {
            check_agent(instance, Some(agent))?;
            return Ok(Arc::clone(instance));
        }
        if instances.len() >= self.shared.limits.max_instances {
            return Err(Problem::new(
                Code::TooManyInstances,
                format!("{} instances run already; DELETE one that is no longer used", instances.len()),
            )
            .retry_after(5));
        }
        let first_sequence = now_us().max(self.sequence_floor.load(Ordering::Relaxed));
        let instance = Instance::new(id.clone(), agent.into(), first_sequence, Arc::clone(&self.shared));
        instances.insert(id.clone(), Arc::clone(&instance));
        self.note(&instance, ChangeKind::Opened);
        drop(instances);
        instance::start(&instance);
        self.shared.announce();
        Ok(instance)
    }

    /// Closes an instance and forgets it; returns when its process tree is gone.
    pub(crate) async fn close(&self, instance: &Arc<Instance>, reason: CloseReason) {
        instance.close(reason).await;
        self.remove(instance);
    }

    /// Takes an instance out of the registry, if it is still the one under its id.
    pub(crate) fn remove(&self, instance: &Instance) {
        let (next, last_event) = {
            let state = instance.lock();
            (state.log.next_sequence, state.log.newest_journal())
        };
        self.sequence_floor.fetch_max(next, Ordering::Relaxed);
        let mut instances = self.instances.write().unwrap_or_else(PoisonError::into_inner);
        if instances.get(&instance.id).is_some_and(|held| std::ptr::eq(&raw const **held, instance)) {
            instances.remove(&instance.id);
            self.note(instance, ChangeKind::Closed { last_event });
        }
        drop(instances);
        self.shared.announce();
    }

    fn note(&self, instance: &Instance, kind: ChangeKind) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        // Drawn under the lock, as with an instance's own events.
        let journal = self.shared.journal.fetch_add(1, Ordering::SeqCst);
        let (server_id, agent, life) = (instance.id.clone(), Arc::clone(&instance.agent), instance.life);
        changes.recent.push_back(Change { journal, server_id, agent, life, kind });
        if changes.recent.len() > REMEMBERED_CHANGES
            && let Some(forgotten) = changes.recent.pop_front()
        {
            changes.forgotten = forgotten.journal;
        }
    }

    /// The comings and goings after a journal number, and whether some in between are forgotten.
    pub(crate) fn changes_after(&self, journal: u64) -> (Vec<Change>, bool) {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let after = changes.recent.iter().filter(|change| change.journal > journal).cloned().collect();
        (after, changes.forgotten > journal)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Takes nothing more in and ends all instances at once.
    pub(crate) async fn shut_down(&self) {
        {
            // Under the lock, so that no instance can be opened behind this.
            let _instances = self.instances.write().unwrap_or_else(PoisonError::into_inner);
            self.stopping.store(true, Ordering::SeqCst);
        }
        let closing = self.all().into_iter().map(|instance| async move {
            self.close(&instance, CloseReason::Stopping).await;
        });
        futures_util::future::join_all(closing).await;
    }

    /// Forgets the oldest events of all instances until `bytes` more fit into the budget, or nothing is left
    /// that may be forgotten.
    pub(crate) fn forget_oldest(&self, bytes: usize) {
        let Ok(_one_at_a_time) = self.shrinking.try_lock() else { return };
        let budget = &self.shared.budget;
        let margin = budget.limit() / SHRINK_MARGIN_DIVISOR;
        while budget.excess(bytes) > 0 {
            let oldest = self
                .all()
                .into_iter()
                .filter_map(|instance| {
                    let age = instance.lock().log.oldest_journal()?;
                    Some((age, instance))
                })
                .min_by_key(|(age, _)| *age);
            let Some((_, instance)) = oldest else { return };
            let step = (budget.excess(bytes) + margin).min(margin.max(1));
            instance.lock().shrink(step);
        }
    }

    /// Closes instances that nobody uses, for as long as the registry lives.
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
                        tracing::info!(server_id = %instance.id, "closing an instance that nobody uses");
                        let registry = Arc::clone(&registry);
                        tokio::spawn(async move { registry.close(&instance, CloseReason::Asked).await });
                    }
                }
            }
        });
    }
}

/// As much of a message as decides about its target.
pub(crate) struct Arriving<'a> {
    /// Only a request starts an ended agent again.
    pub(crate) is_request: bool,
    /// A repeat never does.
    pub(crate) key: Option<&'a IdempotencyKey>,
}

fn check_agent(instance: &Instance, agent: Option<&str>) -> Result<(), Problem> {
    match agent {
        Some(agent) if !instance.shared.launcher.is_same(&instance.agent, agent) => Err(Problem::new(
            Code::AgentMismatch,
            format!(
                "{} is bound to the agent `{}`; use another server id for `{agent}`, or DELETE this one first",
                instance.id, instance.agent
            ),
        )
        .with("agent", &*instance.agent)),
        _ => Ok(()),
    }
}

fn restart_if_wanted(instance: &Arc<Instance>, agent: Option<&str>, message: &Arriving<'_>) {
    let named = agent.or(instance.shared.launcher.default_agent()).is_some();
    if !named || !message.is_request {
        return;
    }
    let mut state = instance.lock();
    let repeat = message.key.is_some_and(|key| !matches!(state.keys.recall(key), Ok(None)));
    if matches!(state.phase, Phase::Exited(_)) && !repeat {
        state.restart();
        drop(state);
        instance.shared.measures.agents.restarts.increment();
        tracing::info!(server_id = %instance.id, agent = %instance.agent, "starting the agent again");
        instance::start(instance);
    }
}

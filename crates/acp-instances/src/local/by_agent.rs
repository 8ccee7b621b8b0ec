//! Metrics per agent: how long requests take in both directions, and what the agents' process trees use.
//!
//! Agent names come from clients, so only the first [`MAX_AGENTS`] names have metric series of their own; all
//! others share [`OTHER`]. An instance looks up its series once, when it is created.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Counter, Exposition, Histogram};
use process_supervisor::{ProcessTable, SupervisorId};

/// How many agents have their own series.
const MAX_AGENTS: usize = 64;
/// The longest agent name that becomes a label. Agents with longer names share [`OTHER`].
const MAX_NAME_BYTES: usize = 64;
/// The label that all other agents share.
const OTHER: &str = "other";
/// The shortest interval between two readings of the process table, however often the server is scraped.
const READING_INTERVAL: Duration = Duration::from_secs(1);

/// The metric series of one agent.
#[derive(Debug, Default)]
pub(crate) struct AgentSeries {
    /// Time from the admission of a client request to the agent's answer.
    pub(crate) client_requests: Histogram,
    /// Time from an agent request to the first answer of a client.
    pub(crate) agent_requests: Histogram,
    cpu_micros: Counter,
    resident_bytes: AtomicU64,
}

/// The metric series of all agents.
#[derive(Debug, Default)]
pub(crate) struct ByAgent {
    named: Mutex<BTreeMap<Arc<str>, Arc<AgentSeries>>>,
    other: Arc<AgentSeries>,
    pub(crate) trees: Trees,
}

impl ByAgent {
    /// Returns the series of an agent, and creates them if they do not exist yet.
    pub(crate) fn series(&self, agent: &Arc<str>) -> Arc<AgentSeries> {
        let mut named = lock(&self.named);
        if let Some(series) = named.get(agent) {
            return Arc::clone(series);
        }
        if named.len() >= MAX_AGENTS || agent.len() > MAX_NAME_BYTES || **agent == *OTHER {
            return Arc::clone(&self.other);
        }
        let series = Arc::<AgentSeries>::default();
        named.insert(Arc::clone(agent), Arc::clone(&series));
        series
    }

    /// All series that may have a value, each with its label.
    fn all(&self) -> Vec<(Arc<str>, Arc<AgentSeries>)> {
        let mut all: Vec<_> =
            lock(&self.named).iter().map(|(name, series)| (Arc::clone(name), Arc::clone(series))).collect();
        // The shared series is in use if anything besides this table holds a reference to it.
        let is_used = Arc::strong_count(&self.other) > 1
            || !self.other.client_requests.is_empty()
            || self.other.cpu_micros.get() > 0;
        if is_used {
            all.push((OTHER.into(), Arc::clone(&self.other)));
        }
        all
    }

    /// Writes all metrics per agent. Reads `/proc` if agents run.
    pub(crate) fn expose(&self, text: &mut Exposition) {
        let all = self.all();
        let has_usage = self.trees.measure(&all);
        let mut family = text.histogram(
            "sandbox_agent_client_request_duration_seconds",
            "Time from the acceptance of a client request to the agent's answer.",
        );
        for (agent, series) in &all {
            family.histogram(&[("agent", agent)], &series.client_requests);
        }
        let mut family = text.histogram(
            "sandbox_agent_agent_request_wait_seconds",
            "Time from an agent request to the first answer of a client.",
        );
        for (agent, series) in &all {
            family.histogram(&[("agent", agent)], &series.agent_requests);
        }
        let shown = if has_usage { all.as_slice() } else { &[] };
        let mut family = text.counter(
            "sandbox_agent_agent_cpu_seconds_total",
            "Processor time of the process trees of agents, including processes that have ended.",
        );
        for (agent, series) in shown {
            family.fraction(&[("agent", agent)], series.cpu_micros.get() as f64 / 1e6);
        }
        let mut family = text.gauge(
            "sandbox_agent_agent_resident_memory_bytes",
            "Resident memory of the process trees of agents. Memory that processes share counts for each of them.",
        );
        for (agent, series) in shown {
            family.value(&[("agent", agent)], series.resident_bytes.load(Ordering::Relaxed));
        }
    }
}

/// The process trees of the running agents.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    tracked: Mutex<HashMap<SupervisorId, Tracked>>,
    /// The last reading of the process table.
    reading: Mutex<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    at: Option<Instant>,
    /// False if there is no `/proc`, or if it has too many processes.
    succeeded: bool,
}

#[derive(Debug)]
struct Tracked {
    series: Arc<AgentSeries>,
    /// The processor time of this tree that is already counted in the series.
    counted: Duration,
}

impl Tracked {
    /// Counts processor time up to `total`. A total smaller than the previous one adds nothing: a process
    /// that its parent does not wait for takes its processor time with it.
    fn count(&mut self, total: Duration) {
        let more = total.saturating_sub(self.counted);
        self.series.cpu_micros.add(u64::try_from(more.as_micros()).unwrap_or(u64::MAX));
        self.counted += more;
    }
}

impl Trees {
    /// Called when an agent has started under this supervisor.
    pub(crate) fn started(&self, supervisor: Option<SupervisorId>, series: &Arc<AgentSeries>) {
        if let Some(supervisor) = supervisor {
            let tracked = Tracked { series: Arc::clone(series), counted: Duration::ZERO };
            lock(&self.tracked).insert(supervisor, tracked);
        }
    }

    /// Called when the tree has ended. `total` is the processor time that it used.
    pub(crate) fn ended(&self, supervisor: Option<SupervisorId>, total: Option<Duration>) {
        let tracked = supervisor.and_then(|supervisor| lock(&self.tracked).remove(&supervisor));
        if let (Some(mut tracked), Some(total)) = (tracked, total) {
            tracked.count(total);
        }
    }

    /// Measures what all trees use. Returns false if that is unknown.
    fn measure(&self, all: &[(Arc<str>, Arc<AgentSeries>)]) -> bool {
        // The lock is held while the table is read, so that simultaneous scrapes share one reading.
        let mut reading = lock(&self.reading);
        if reading.at.is_some_and(|at| at.elapsed() < READING_INTERVAL) {
            return reading.succeeded;
        }
        if lock(&self.tracked).is_empty() {
            for (_, series) in all {
                series.resident_bytes.store(0, Ordering::Relaxed);
            }
            reading.succeeded = SupervisorId::of(std::process::id()).is_some();
            return reading.succeeded;
        }
        let table = ProcessTable::read();
        *reading = Reading { at: Some(Instant::now()), succeeded: table.is_some() };
        let Some(table) = table else { return false };
        let mut resident: HashMap<*const AgentSeries, u64> = HashMap::new();
        for (supervisor, tracked) in lock(&self.tracked).iter_mut() {
            if let Some(usage) = table.tree(*supervisor) {
                tracked.count(usage.cpu);
                *resident.entry(Arc::as_ptr(&tracked.series)).or_default() += usage.resident_bytes;
            }
        }
        for (_, series) in all {
            let bytes = resident.get(&Arc::as_ptr(series)).copied().unwrap_or(0);
            series.resident_bytes.store(bytes, Ordering::Relaxed);
        }
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code can panic with a half-changed value while it holds one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposed(by_agent: &ByAgent) -> String {
        let mut text = Exposition::default();
        by_agent.expose(&mut text);
        text.finish()
    }

    #[test]
    fn each_agent_has_its_own_series_up_to_a_limit_and_the_rest_share_one() {
        let by_agent = ByAgent::default();
        let first = by_agent.series(&"first".into());
        assert!(Arc::ptr_eq(&first, &by_agent.series(&"first".into())));
        let long: Arc<str> = "x".repeat(MAX_NAME_BYTES + 1).into();
        assert!(Arc::ptr_eq(&by_agent.series(&long), &by_agent.other));
        for number in 0..1000 {
            let series = by_agent.series(&format!("made-up-{number}").into());
            series.client_requests.observe(Duration::from_millis(1));
        }
        let text = exposed(&by_agent);
        let name = "sandbox_agent_client_request_duration_seconds_count";
        assert_eq!(text.matches(&format!("{name}{{")).count(), MAX_AGENTS, "{text}");
        let others = 1000 - (MAX_AGENTS - 1);
        assert!(text.contains(&format!("{name}{{agent=\"other\"}} {others}\n")), "{text}");
        assert!(Arc::ptr_eq(&first, &by_agent.series(&"first".into())), "it keeps its own");
    }

    #[test]
    fn no_agent_called_other_duplicates_the_shared_series() {
        let by_agent = ByAgent::default();
        by_agent.series(&OTHER.into()).client_requests.observe(Duration::from_millis(1));
        let text = exposed(&by_agent);
        assert_eq!(text.matches("_count{agent=\"other\"}").count(), 1, "{text}");
    }

    #[test]
    fn processor_time_only_grows_and_survives_the_end_of_its_tree() {
        let series = Arc::<AgentSeries>::default();
        let mut tracked = Tracked { series: Arc::clone(&series), counted: Duration::ZERO };
        for (total, counted) in [(30, 30), (20, 30), (50, 50)] {
            tracked.count(Duration::from_millis(total));
            assert_eq!(series.cpu_micros.get(), counted * 1000);
        }
        let (trees, supervisor) = (Trees::default(), SupervisorId::of(std::process::id()));
        trees.started(supervisor, &series);
        trees.ended(supervisor, Some(Duration::from_millis(7)));
        trees.ended(supervisor, Some(Duration::from_millis(9)));
        assert_eq!(series.cpu_micros.get(), 57_000, "each tree is counted once");
    }
}

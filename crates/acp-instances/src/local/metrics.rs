//! The metrics of the engine.
//!
//! Messages are counted per batch (one read or one write). Only requests are counted one by one; see
//! [`super::by_agent`]. No label comes from a message.

use journal::JournalStats;
use metrics::{Counter, Exposition};
use process_supervisor::Exit;

use super::by_agent::ByAgent;
use super::registry::Registry;
use crate::error::{StartFailure, StartStep};
use crate::exit::ExitCause;
use crate::instance::Phase;

/// The counters of one engine.
#[derive(Debug, Default)]
pub(crate) struct EngineMetrics {
    pub(crate) pipes: PipeMetrics,
    pub(crate) agents: AgentMetrics,
    pub(crate) by_agent: ByAgent,
}

/// Counts what passes between the server and the agents' processes.
#[derive(Debug, Default)]
pub(crate) struct PipeMetrics {
    pub(crate) messages_read: Counter,
    pub(crate) lines_unparsed: Counter,
    pub(crate) messages_written: Counter,
    pub(crate) stdin_bytes: Counter,
    pub(crate) stdout_bytes: Counter,
    pub(crate) stderr_bytes: Counter,
}

/// Counts starts and ends of the agents' processes.
#[derive(Debug, Default)]
pub(crate) struct AgentMetrics {
    pub(crate) starts: Counter,
    pub(crate) restarts: Counter,
    not_launched: Counter,
    not_prepared: Counter,
    succeeded: Counter,
    failed: Counter,
    killed: Counter,
    unknown: Counter,
    closed: Counter,
}

impl AgentMetrics {
    /// Counts the end of a process, or a failure to start one.
    pub(crate) fn ended(&self, cause: &ExitCause) {
        match cause {
            ExitCause::Exited(Exit::Code(0)) => &self.succeeded,
            ExitCause::Exited(Exit::Code(_)) => &self.failed,
            ExitCause::Exited(Exit::Signal(_)) => &self.killed,
            ExitCause::Exited(Exit::Unknown) => &self.unknown,
            ExitCause::Closed | ExitCause::ShutDown | ExitCause::ServerDied => &self.closed,
            ExitCause::NotStarted(failure) => self.not_started(failure),
        }
        .increment();
    }

    fn not_started(&self, failure: &StartFailure) -> &Counter {
        if failure.step == StartStep::SpawnFailed { &self.not_launched } else { &self.not_prepared }
    }
}

/// Totals that require a look at every instance.
#[derive(Debug, Default)]
struct Census {
    starting: u64,
    running: u64,
    closing: u64,
    exited: u64,
    pending: u64,
    awaiting: u64,
    queued_bytes: u64,
    replay_bytes: u64,
}

impl Census {
    /// Collects the totals. Locks one instance after the other, each only briefly.
    fn take(registry: &Registry) -> Self {
        let mut census = Self::default();
        for instance in registry.all() {
            let state = instance.lock();
            *match &state.phase {
                Phase::Starting => &mut census.starting,
                Phase::Running => &mut census.running,
                Phase::Closing => &mut census.closing,
                Phase::Exited(_) | Phase::Gone(_) => &mut census.exited,
            } += 1;
            census.pending += state.client_requests.len() as u64;
            census.awaiting += state.agent_requests.len() as u64;
            census.replay_bytes += (state.output.cost() + state.input.cost()) as u64;
            drop(state);
            census.queued_bytes += instance.queued_bytes() as u64;
        }
        census
    }
}

/// Writes all metrics of the engine.
pub(super) fn expose(registry: &Registry, text: &mut Exposition) {
    let census = Census::take(registry);
    let EngineMetrics { pipes, agents, by_agent } = &registry.shared.metrics;
    expose_instances(&census, text);
    expose_agents(agents, text);
    by_agent.expose(text);
    expose_pipes(pipes, text);
    let account = &registry.shared.account;
    text.gauge("sandbox_agent_memory_used_bytes", "Bytes of --memory-budget that messages use now.")
        .value(&[], account.used() as u64);
    text.gauge("sandbox_agent_memory_limit_bytes", "Bytes of --memory-budget.")
        .value(&[], account.limit() as u64);
    if let Some(journal) = &registry.shared.journal {
        expose_journal(&journal.stats(), registry.shared.suspended_journals(), text);
    }
}

fn expose_journal(stats: &JournalStats, suspended: u64, text: &mut Exposition) {
    text.gauge("sandbox_agent_journal_bytes", "Bytes of the journal on disk.").value(&[], stats.bytes);
    text.gauge("sandbox_agent_journal_segments", "Segment files of the journal.").value(&[], stats.segments);
    text.gauge("sandbox_agent_journal_suspended", "Instances whose journal cannot be written at the moment.")
        .value(&[], suspended);
    text.counter("sandbox_agent_journal_write_errors_total", "Writes and syncs of the journal that failed.")
        .value(&[], stats.write_errors);
}

fn expose_instances(census: &Census, text: &mut Exposition) {
    text.gauge("sandbox_agent_instances", "Instances, by status as in GET /v1/acp.")
        .value(&[("status", "starting")], census.starting)
        .value(&[("status", "running")], census.running)
        .value(&[("status", "closing")], census.closing)
        .value(&[("status", "exited")], census.exited);
    text.gauge("sandbox_agent_pending_requests", "Client requests that wait for an agent's answer.")
        .value(&[], census.pending);
    text.gauge("sandbox_agent_awaited_answers", "Agent requests that no client has answered.")
        .value(&[], census.awaiting);
    text.gauge("sandbox_agent_stdin_queue_bytes", "Bytes in the input queues of agents.")
        .value(&[], census.queued_bytes);
    text.gauge("sandbox_agent_replay_bytes", "Bytes of events stored for readers that reconnect.")
        .value(&[], census.replay_bytes);
}

fn expose_agents(agents: &AgentMetrics, text: &mut Exposition) {
    text.counter("sandbox_agent_agent_starts_total", "Started agent processes.")
        .value(&[], agents.starts.get());
    text.counter(
        "sandbox_agent_agent_restarts_total",
        "Agents that a request restarted under the same server id after they had ended.",
    )
    .value(&[], agents.restarts.get());
    text.counter(
        "sandbox_agent_agent_start_failures_total",
        "Agents that did not start: prepare (not installed or unknown), launch (could not be executed).",
    )
    .value(&[("step", "prepare")], agents.not_prepared.get())
    .value(&[("step", "launch")], agents.not_launched.get());
    text.counter(
        "sandbox_agent_agent_exits_total",
        "Agent processes that ended: success (exit code 0), failure (another), signal, unknown, closed (by DELETE, \
         for idleness, or with the server).",
    )
    .value(&[("reason", "success")], agents.succeeded.get())
    .value(&[("reason", "failure")], agents.failed.get())
    .value(&[("reason", "signal")], agents.killed.get())
    .value(&[("reason", "unknown")], agents.unknown.get())
    .value(&[("reason", "closed")], agents.closed.get());
}

fn expose_pipes(pipes: &PipeMetrics, text: &mut Exposition) {
    text.counter("sandbox_agent_events_heard_total", "Lines that agents wrote: message or unparsed.")
        .value(&[("kind", "message")], pipes.messages_read.get())
        .value(&[("kind", "unparsed")], pipes.lines_unparsed.get());
    text.counter("sandbox_agent_messages_written_total", "Messages of clients written to agents.")
        .value(&[], pipes.messages_written.get());
    text.counter("sandbox_agent_pipe_bytes_total", "Bytes sent through the agents' pipes.")
        .value(&[("pipe", "stdin")], pipes.stdin_bytes.get())
        .value(&[("pipe", "stdout")], pipes.stdout_bytes.get())
        .value(&[("pipe", "stderr")], pipes.stderr_bytes.get());
}

//! What the bridge counts, and how it tells.
//!
//! Counted by the batch: what one read brought, what one write took, what one pull gave to a reader. Nothing here is
//! counted message by message, and no label comes from a client or an agent.

use http_edge::{Code, Problem};
use measures::{Counter, Exposition, Gauge};
use process_supervisor::Exit;

use crate::exit_record::EndCause;
use crate::instance::Phase;
use crate::registry::Registry;

/// The counters of one bridge.
#[derive(Debug, Default)]
pub(crate) struct BridgeMeasures {
    pub(crate) pipes: PipeMeasures,
    pub(crate) agents: AgentMeasures,
    /// Streams of one instance: what its agent says.
    pub(crate) messages: StreamMeasures,
    /// Streams of one instance: both directions.
    pub(crate) journal: StreamMeasures,
    /// Streams of many instances.
    pub(crate) many: StreamMeasures,
}

/// What passes between the server and the agents' processes.
#[derive(Debug, Default)]
pub(crate) struct PipeMeasures {
    pub(crate) messages_heard: Counter,
    pub(crate) lines_unparsed: Counter,
    pub(crate) messages_written: Counter,
    pub(crate) stdin_bytes: Counter,
    pub(crate) stdout_bytes: Counter,
    pub(crate) stderr_bytes: Counter,
}

/// What becomes of the agents' processes.
#[derive(Debug, Default)]
pub(crate) struct AgentMeasures {
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

/// What one kind of stream gives to its readers.
#[derive(Debug, Default)]
pub(crate) struct StreamMeasures {
    pub(crate) open: Gauge,
    pub(crate) bytes: Counter,
    pub(crate) events: Counter,
    /// Those of them that were there before the reader came.
    pub(crate) replayed: Counter,
    pub(crate) gaps: Counter,
}

impl AgentMeasures {
    /// Counts an end of a process, or of the attempt to have one.
    pub(crate) fn ended(&self, cause: &EndCause) {
        match cause {
            EndCause::Exited(Exit::Code(0)) => &self.succeeded,
            EndCause::Exited(Exit::Code(_)) => &self.failed,
            EndCause::Exited(Exit::Signal(_)) => &self.killed,
            EndCause::Exited(Exit::Unknown) => &self.unknown,
            EndCause::Closed | EndCause::Stopping => &self.closed,
            EndCause::NotStarted(problem) => self.not_started(problem),
        }
        .increment();
    }

    fn not_started(&self, problem: &Problem) -> &Counter {
        if problem.code() == Code::SpawnFailed { &self.not_launched } else { &self.not_prepared }
    }
}

impl StreamMeasures {
    /// Counts what one pull gave.
    pub(crate) fn gave(&self, events: u64, replayed: u64) {
        self.events.add(events);
        if replayed > 0 {
            self.replayed.add(replayed);
        }
    }
}

/// What can only be told by looking at every instance.
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
    /// One short lock an instance, one after the other.
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
            census.pending += state.pending.len() as u64;
            census.awaiting += state.awaited.iter().count() as u64;
            census.replay_bytes += (state.log.events.cost() + state.log.sent.cost()) as u64;
            drop(state);
            census.queued_bytes += instance.queued_bytes() as u64;
        }
        census
    }
}

/// Writes down everything that the bridge counts.
pub(crate) fn expose(registry: &Registry, text: &mut Exposition) {
    let census = Census::take(registry);
    let BridgeMeasures { pipes, agents, messages, journal, many } = &registry.shared.measures;
    expose_instances(&census, text);
    expose_agents(agents, text);
    expose_pipes(pipes, text);
    expose_streams(&[("messages", messages), ("journal", journal), ("many", many)], text);
    let budget = &registry.shared.budget;
    text.gauge("sandbox_agent_memory_used_bytes", "Bytes of --memory-budget that messages take now.")
        .value(&[], budget.used() as u64);
    text.gauge("sandbox_agent_memory_limit_bytes", "Bytes of --memory-budget.")
        .value(&[], budget.limit() as u64);
}

fn expose_instances(census: &Census, text: &mut Exposition) {
    text.gauge("sandbox_agent_instances", "Instances, by status as in GET /v1/acp.")
        .value(&[("status", "starting")], census.starting)
        .value(&[("status", "running")], census.running)
        .value(&[("status", "closing")], census.closing)
        .value(&[("status", "exited")], census.exited);
    text.gauge("sandbox_agent_pending_requests", "Requests of clients that wait for an agent's answer.")
        .value(&[], census.pending);
    text.gauge("sandbox_agent_awaited_answers", "Requests of agents that no client has answered.")
        .value(&[], census.awaiting);
    text.gauge("sandbox_agent_stdin_queue_bytes", "Bytes that wait for agents to read them.")
        .value(&[], census.queued_bytes);
    text.gauge("sandbox_agent_replay_bytes", "Bytes that are held for readers that come back.")
        .value(&[], census.replay_bytes);
}

fn expose_agents(agents: &AgentMeasures, text: &mut Exposition) {
    text.counter("sandbox_agent_agent_starts_total", "Agent processes that were started.")
        .value(&[], agents.starts.get());
    text.counter(
        "sandbox_agent_agent_restarts_total",
        "Ended agents that a request started again under the same server id.",
    )
    .value(&[], agents.restarts.get());
    text.counter(
        "sandbox_agent_agent_start_failures_total",
        "Agents that did not start: prepare (not installed or not known), launch (could not be executed).",
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

fn expose_pipes(pipes: &PipeMeasures, text: &mut Exposition) {
    text.counter("sandbox_agent_events_heard_total", "Lines that agents said: message, or unparsed.")
        .value(&[("kind", "message")], pipes.messages_heard.get())
        .value(&[("kind", "unparsed")], pipes.lines_unparsed.get());
    text.counter("sandbox_agent_messages_written_total", "Messages of clients that were written to agents.")
        .value(&[], pipes.messages_written.get());
    text.counter("sandbox_agent_pipe_bytes_total", "Bytes through the agents' pipes.")
        .value(&[("pipe", "stdin")], pipes.stdin_bytes.get())
        .value(&[("pipe", "stdout")], pipes.stdout_bytes.get())
        .value(&[("pipe", "stderr")], pipes.stderr_bytes.get());
}

fn expose_streams(views: &[(&str, &StreamMeasures); 3], text: &mut Exposition) {
    let mut family = text.gauge(
        "sandbox_agent_streams",
        "Open streams: messages and journal of one instance, and many (GET /v1/acp).",
    );
    for (view, streams) in views {
        family.value(&[("view", view)], streams.open.get());
    }
    type Read = fn(&StreamMeasures) -> &Counter;
    let counters: [(&str, &str, Read); 4] = [
        ("sandbox_agent_events_sent_total", "Events given to readers of streams.", |streams| &streams.events),
        (
            "sandbox_agent_events_replayed_total",
            "Those of them that were there before their reader came.",
            |streams| &streams.replayed,
        ),
        ("sandbox_agent_gaps_total", "Gaps told to readers.", |streams| &streams.gaps),
        ("sandbox_agent_stream_bytes_total", "Bytes of events given to readers.", |streams| &streams.bytes),
    ];
    for (name, help, read) in counters {
        let mut family = text.counter(name, help);
        for (view, streams) in views {
            family.value(&[("view", view)], read(streams).get());
        }
    }
}

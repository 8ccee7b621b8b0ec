//! All limits and time-outs of the engine, in one place.

use std::time::Duration;

/// The limits of an engine. `Default` has the product's defaults.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest message in either direction, in bytes.
    pub max_message_bytes: usize,
    /// How many bytes may be queued for one agent that does not read its input.
    pub stdin_queue_bytes: usize,
    /// How many bytes of past events one instance keeps.
    pub replay_bytes: usize,
    /// The maximum number of bytes of the agent's unanswered requests that an instance retains after its log evicted
    /// them.
    pub retained_bytes: usize,
    /// How many past events one instance keeps.
    pub replay_events: usize,
    /// How much memory request bodies, queues and past events of all instances may take together.
    pub memory_budget: usize,
    /// How long a request waits for its answer; `None` means without limit.
    pub request_timeout: Option<Duration>,
    /// How many client requests of one instance may wait at once.
    pub max_pending: usize,
    /// How many instances there may be at once.
    pub max_instances: usize,
    /// After how long an idle instance is closed; `None` means never.
    pub instance_idle_timeout: Option<Duration>,
    /// How long a message waits for room in a full queue before it is refused.
    pub queue_patience: Duration,
    /// How long an agent may take to exit after its input is closed.
    pub close_grace: Duration,
    /// How long an agent may take to exit after SIGTERM.
    pub terminate_grace: Duration,
    /// How long to go on reading output after the process has ended.
    pub drain: Duration,
    /// How long a process may live on after it closed its output.
    pub eof_grace: Duration,
    /// How many idempotency keys an instance remembers.
    pub idempotency_keys: usize,
}

impl Limits {
    /// How long a closed agent may take to exit before it is killed.
    pub(crate) fn graces(&self) -> Duration {
        self.close_grace.saturating_add(self.terminate_grace)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 32 << 20,
            stdin_queue_bytes: 64 << 20,
            replay_bytes: 64 << 20,
            retained_bytes: 64 << 20,
            replay_events: 65_536,
            memory_budget: 1 << 30,
            request_timeout: Some(Duration::from_secs(3600)),
            max_pending: 4096,
            max_instances: 1024,
            instance_idle_timeout: None,
            queue_patience: Duration::from_secs(10),
            close_grace: Duration::from_secs(2),
            terminate_grace: Duration::from_secs(3),
            drain: Duration::from_millis(300),
            eof_grace: Duration::from_secs(1),
            idempotency_keys: 4096,
        }
    }
}

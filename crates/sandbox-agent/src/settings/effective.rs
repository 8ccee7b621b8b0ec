//! The limits in force, as `GET /v1/health` tells them.
//!
//! Every flag under "Limits" is here under its own name, and nothing else is. A time ends in `Ms` and counts
//! milliseconds; a size counts bytes; `null` is "no such limit".

use std::time::Duration;

use acp_instances::Limits;
use serde::Serialize;

use super::FileSettings;

/// What the flags, the environment, the config file and the defaults came to.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = ServerLimits))]
#[serde(rename_all = "camelCase")]
pub(crate) struct EffectiveLimits {
    /// Most bytes of one message.
    max_message_bytes: usize,
    /// Most bytes that wait for one agent to read them.
    stdin_queue_bytes: usize,
    /// Most bytes that are kept of what one agent said.
    replay_bytes: usize,
    /// Most events that are kept of one agent.
    replay_events: usize,
    /// Most bytes that all messages together take.
    memory_budget: usize,
    /// How long a request waits for its answer.
    #[cfg_attr(test, schema(required = true))]
    request_timeout_ms: Option<u64>,
    /// Most requests that wait for one agent.
    max_pending: usize,
    /// Most instances at once.
    max_instances: usize,
    /// After how long an instance that nobody uses is closed.
    #[cfg_attr(test, schema(required = true))]
    instance_idle_timeout_ms: Option<u64>,
    /// How long a closed agent may take to leave by itself.
    close_grace_ms: u64,
    /// How long it may take after that, when it was told to leave.
    terminate_grace_ms: u64,
    /// Most bytes of one upload, unpacked.
    #[cfg_attr(test, schema(required = true))]
    max_upload_bytes: Option<u64>,
    /// Most entries of one uploaded archive.
    #[cfg_attr(test, schema(required = true))]
    max_upload_entries: Option<u64>,
}

impl EffectiveLimits {
    pub(crate) fn of(limits: &Limits, files: &FileSettings) -> Self {
        let Limits {
            max_message_bytes,
            stdin_queue_bytes,
            replay_bytes,
            replay_events,
            memory_budget,
            request_timeout,
            max_pending,
            max_instances,
            instance_idle_timeout,
            close_grace,
            terminate_grace,
            ..
        } = *limits;
        Self {
            max_message_bytes,
            stdin_queue_bytes,
            replay_bytes,
            replay_events,
            memory_budget,
            request_timeout_ms: request_timeout.map(milliseconds),
            max_pending,
            max_instances,
            instance_idle_timeout_ms: instance_idle_timeout.map(milliseconds),
            close_grace_ms: milliseconds(close_grace),
            terminate_grace_ms: milliseconds(terminate_grace),
            max_upload_bytes: files.max_upload_bytes,
            max_upload_entries: files.max_upload_entries,
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

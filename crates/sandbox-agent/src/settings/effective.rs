//! The effective limits, as `GET /v1/health` reports them.
//!
//! There is one field per flag under "Limits", with the same name. Times end in `Ms` and are in milliseconds, sizes
//! are in bytes, and `null` means that there is no limit.

use std::time::Duration;

use acp_instances::Limits;
use http_server::ConnectionLimits;
use serde::Serialize;

use super::FileSettings;

/// The effective limits of the server, from flags, environment, config file and defaults.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = ServerLimits))]
#[serde(rename_all = "camelCase")]
pub(crate) struct EffectiveLimits {
    /// Maximum size of one message.
    max_message_bytes: usize,
    /// Maximum size of one agent's input queue.
    stdin_queue_bytes: usize,
    /// Maximum size of the events that one instance keeps.
    replay_bytes: usize,
    /// Maximum number of events that one instance keeps.
    replay_events: usize,
    /// Maximum memory for the messages of all instances together.
    memory_budget: usize,
    /// How long a request waits for its answer.
    #[cfg_attr(test, schema(required = true))]
    request_timeout_ms: Option<u64>,
    /// Maximum number of requests that wait for one agent.
    max_pending: usize,
    /// Maximum number of instances.
    max_instances: usize,
    /// Maximum number of connections.
    max_connections: usize,
    /// How long a client may take nothing of what is ready for it.
    #[cfg_attr(test, schema(required = true))]
    send_timeout_ms: Option<u64>,
    /// How long an instance may be idle before it is closed.
    #[cfg_attr(test, schema(required = true))]
    instance_idle_timeout_ms: Option<u64>,
    /// How long a closed agent may take to exit on its own.
    close_grace_ms: u64,
    /// How long a closed agent may take to exit after SIGTERM.
    terminate_grace_ms: u64,
    /// Maximum size of one upload, unpacked if it is an archive.
    #[cfg_attr(test, schema(required = true))]
    max_upload_bytes: Option<u64>,
    /// Maximum number of entries in one uploaded archive.
    #[cfg_attr(test, schema(required = true))]
    max_upload_entries: Option<u64>,
}

impl EffectiveLimits {
    pub(crate) fn of(limits: &Limits, files: &FileSettings, connections: ConnectionLimits) -> Self {
        let Limits {
            max_message_bytes,
            stdin_queue_bytes,
            replay_bytes,
            retained_bytes: _,
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
            max_connections: connections.max_connections,
            send_timeout_ms: connections.send_timeout.map(milliseconds),
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

//! Instances and exits in the format that clients receive.

use acp_instances::{ExitCause, ExitRecord, FailedRequest, InstanceStatus, RequestId, StartStep, Summary};
use http_server::Problem;
use process_supervisor::Exit;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::document::JsonRpcId;
use crate::problem::{start_failure_to_problem, to_problem};

/// All instances.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstanceList {
    /// One entry per server id.
    pub(crate) servers: Vec<WireInstance>,
}

impl InstanceList {
    pub(crate) fn new(instances: &[Summary]) -> Self {
        Self { servers: instances.iter().map(WireInstance::new).collect() }
    }

    pub(crate) fn to_json(&self) -> String {
        // Strings, numbers and lists of them always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = InstanceStatus)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WireStatus {
    /// The agent is being installed or started.
    Starting,
    /// The agent is running.
    Running,
    /// The agent is being ended.
    Closing,
    /// The agent has ended; its messages can still be read.
    Exited,
    /// The instance was closed; only `status=all` lists it, and `view=journal` streams its history.
    Closed,
}

/// One instance as the list shows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Instance)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireInstance {
    /// The id that the client chose.
    pub(crate) server_id: String,
    /// The agent that the instance is bound to.
    pub(crate) agent: String,
    /// The state of the instance.
    #[schema(value_type = WireStatus)]
    pub(crate) status: WireStatus,
    /// The agent's process id while it runs.
    #[schema(required = true)]
    pub(crate) pid: Option<u32>,
    /// When the instance was created, in milliseconds since 1970.
    pub(crate) created_at_ms: u64,
    /// When a message was last sent or received, in milliseconds since 1970.
    pub(crate) last_activity_ms: u64,
    /// The number of the newest event; 0 if there is none.
    pub(crate) last_event_id: u64,
    /// The number of client requests that wait for the agent.
    pub(crate) pending_requests: usize,
    /// The unanswered agent requests.
    pub(crate) awaiting: Vec<WireAgentRequest>,
    /// The number of open streams.
    pub(crate) readers: usize,
    /// How the process ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) exit: Option<ExitReport>,
}

impl WireInstance {
    fn new(instance: &Summary) -> Self {
        let awaiting = instance
            .agent_requests
            .iter()
            .map(|request| WireAgentRequest { id: raw(&request.id), event: request.sequence });
        Self {
            server_id: instance.server_id.as_str().to_owned(),
            agent: instance.agent.clone(),
            status: match instance.status {
                InstanceStatus::Starting => WireStatus::Starting,
                InstanceStatus::Running => WireStatus::Running,
                InstanceStatus::Closing => WireStatus::Closing,
                InstanceStatus::Exited => WireStatus::Exited,
                InstanceStatus::Closed => WireStatus::Closed,
            },
            pid: instance.pid,
            created_at_ms: instance.created_at_ms,
            last_activity_ms: instance.last_activity_ms,
            last_event_id: instance.last_sequence,
            pending_requests: instance.client_requests,
            awaiting: awaiting.collect(),
            readers: instance.readers.unwrap_or(0),
            exit: instance.exit.as_ref().map(ExitReport::new),
        }
    }
}

/// An unanswered agent request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AwaitedRequest)]
pub(crate) struct WireAgentRequest {
    /// The JSON-RPC id of the request.
    #[schema(value_type = JsonRpcId)]
    pub(crate) id: Box<RawValue>,
    /// The number of the event with the request.
    pub(crate) event: u64,
}

fn raw(id: &RequestId) -> Box<RawValue> {
    // The canonical text of an id is valid JSON.
    RawValue::from_string(id.as_json().to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// How an agent's process ended. It has one of `code`, `signal` and `error`.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExitReport {
    /// The exit code, if the process exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) code: Option<i32>,
    /// The name of the signal that ended the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) signal: Option<String>,
    /// Why there was no process, or that the server ended the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) error: Option<ExitReason>,
    /// Why the agent could not be installed or started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Problem>)]
    pub(crate) problem: Option<Problem>,
    /// The end of the agent's standard error output.
    pub(crate) stderr_tail: String,
}

/// See [`ExitReport::error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExitReason {
    /// The agent could not be installed.
    InstallFailed,
    /// The agent could not be started.
    SpawnFailed,
    /// The instance was closed, or the server was stopped.
    Closed,
    /// The server was killed or crashed, and the agent ended with it.
    ServerDied,
}

impl ExitReport {
    pub(crate) fn new(record: &ExitRecord) -> Self {
        let mut report = Self { stderr_tail: record.stderr_tail.clone(), ..Self::default() };
        match &record.cause {
            ExitCause::Exited(Exit::Code(code)) => report.code = Some(*code),
            ExitCause::Exited(Exit::Signal(number)) => report.signal = Some(Exit::signal_name(*number)),
            ExitCause::Exited(Exit::Unknown) => report.signal = Some("unknown".to_owned()),
            ExitCause::Closed | ExitCause::ShutDown => report.error = Some(ExitReason::Closed),
            ExitCause::ServerDied => report.error = Some(ExitReason::ServerDied),
            ExitCause::NotStarted(failure) => {
                report.error = Some(match failure.step {
                    StartStep::SpawnFailed => ExitReason::SpawnFailed,
                    _ => ExitReason::InstallFailed,
                });
                report.problem = Some(start_failure_to_problem(failure));
            }
        }
        report
    }

    pub(crate) fn to_json(&self) -> String {
        // Strings and numbers always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The data of a `failed` event.
pub(crate) fn failed_to_json(failed: &FailedRequest) -> String {
    format!(r#"{{"id":{},"problem":{}}}"#, failed.id.as_json(), to_problem(&failed.error).to_json())
}

#[cfg(test)]
mod tests {
    use acp_instances::StartFailure;

    use super::*;

    fn json(cause: ExitCause) -> String {
        ExitReport::new(&ExitRecord { cause, stderr_tail: "last words".into() }).to_json()
    }

    #[test]
    fn an_exit_has_code_signal_or_error() {
        assert_eq!(json(ExitCause::Exited(Exit::Code(3))), r#"{"code":3,"stderrTail":"last words"}"#);
        assert!(json(ExitCause::Exited(Exit::Signal(9))).contains(r#""signal":"SIGKILL""#));
        assert_eq!(json(ExitCause::ServerDied), r#"{"error":"server_died","stderrTail":"last words"}"#);
        assert_eq!(json(ExitCause::Closed), r#"{"error":"closed","stderrTail":"last words"}"#);
        let missing = StartFailure::new(StartStep::NotInstalled, "install it");
        assert!(json(ExitCause::NotStarted(missing)).contains(r#""error":"install_failed","problem":{"#));
    }
}

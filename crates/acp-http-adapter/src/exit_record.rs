//! How an instance's process ended, as clients are told.

use http_edge::{Code, Problem};
use process_supervisor::Exit;
use serde::Serialize;
use utoipa::ToSchema;

/// Why there is no process any more.
#[derive(Debug, Clone)]
pub(crate) enum EndCause {
    /// The process ended by itself, or somebody outside ended it.
    Exited(Exit),
    /// The instance was closed, by DELETE or because nobody used it.
    Closed,
    /// The server is shutting down.
    Stopping,
    /// The process never started.
    NotStarted(Problem),
}

/// How an agent's process ended: `code`, `signal` or `error` says it.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExitReport {
    /// Its exit code, when it ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub code: Option<i32>,
    /// The name of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub signal: Option<String>,
    /// Why there was no process, or that the server ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<ExitReason>,
    /// What went wrong when it could not be installed or started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Problem>)]
    pub problem: Option<Problem>,
    /// The end of what it wrote to its standard error.
    pub stderr_tail: String,
}

/// See [`ExitReport::error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitReason {
    /// The agent could not be installed.
    InstallFailed,
    /// The agent could not be started.
    SpawnFailed,
    /// The instance was closed, or the server stops.
    Closed,
}

/// The end of a process with its last words.
#[derive(Debug, Clone)]
pub(crate) struct ExitRecord {
    pub(crate) cause: EndCause,
    pub(crate) stderr_tail: String,
    /// The number of the `exit` event.
    pub(crate) event: u64,
}

impl ExitRecord {
    /// What the `exit` event and the instance list say.
    pub(crate) fn report(&self) -> ExitReport {
        let mut report = ExitReport { stderr_tail: self.stderr_tail.clone(), ..ExitReport::default() };
        match &self.cause {
            EndCause::Exited(exit) => (report.code, report.signal) = code_or_signal(*exit),
            EndCause::Closed | EndCause::Stopping => report.error = Some(ExitReason::Closed),
            EndCause::NotStarted(problem) => {
                let did_install = problem.code() == Code::SpawnFailed;
                report.error =
                    Some(if did_install { ExitReason::SpawnFailed } else { ExitReason::InstallFailed });
                report.problem = Some(problem.clone());
            }
        }
        report
    }

    /// The same as JSON.
    pub(crate) fn to_json(&self) -> String {
        // Text and numbers only: nothing here can fail to serialise.
        serde_json::to_string(&self.report()).unwrap_or_default()
    }

    /// What a client is told whose request this end left without an answer.
    pub(crate) fn to_problem(&self) -> Problem {
        match &self.cause {
            EndCause::Exited(exit) => {
                let detail = format!(
                    "the agent ended by {exit} without answering; its last words are in stderrTail. \
                     POST a request with ?agent= to start it again"
                );
                let problem = Problem::new(Code::AgentExited, detail);
                let problem = match code_or_signal(*exit) {
                    (Some(code), _) => problem.with("exitCode", code),
                    (None, signal) => problem.with("signal", signal.unwrap_or_default()),
                };
                problem.with("stderrTail", self.stderr_tail.as_str())
            }
            EndCause::Closed => Problem::new(
                Code::InstanceClosed,
                "the instance was closed while this request waited; POST with ?agent= to start a new one",
            ),
            EndCause::Stopping => Self::stopping(),
            EndCause::NotStarted(problem) => problem.clone(),
        }
    }

    /// What every client is told while the server shuts down.
    pub(crate) fn stopping() -> Problem {
        Problem::new(Code::ServerStopping, "the server is shutting down; try again when it is back")
            .retry_after(5)
    }
}

fn code_or_signal(exit: Exit) -> (Option<i32>, Option<String>) {
    match exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(number) => (None, Some(Exit::signal_name(number).to_string())),
        Exit::Unknown => (None, Some("unknown".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cause: EndCause) -> ExitRecord {
        ExitRecord { cause, stderr_tail: "last words".into(), event: 1 }
    }

    #[test]
    fn the_event_tells_code_signal_or_error() {
        let code = record(EndCause::Exited(Exit::Code(3)));
        assert_eq!(code.to_json(), r#"{"code":3,"stderrTail":"last words"}"#);
        let signal = record(EndCause::Exited(Exit::Signal(9)));
        assert_eq!(signal.report().signal.unwrap(), "SIGKILL");
        assert_eq!(record(EndCause::Closed).to_json(), r#"{"error":"closed","stderrTail":"last words"}"#);
        let missing = Problem::new(Code::AgentNotInstalled, "install it");
        assert_eq!(record(EndCause::NotStarted(missing)).report().error, Some(ExitReason::InstallFailed));
    }

    #[test]
    fn the_problem_carries_the_same_facts() {
        let problem = serde_json::to_value(record(EndCause::Exited(Exit::Code(3))).to_problem()).unwrap();
        assert_eq!(problem["exitCode"], 3);
        assert_eq!(problem["stderrTail"], "last words");
        assert_eq!(record(EndCause::Closed).to_problem().code(), Code::InstanceClosed);
    }
}

//! How an instance's process ended, as clients are told.

use http_edge::{Code, Problem};
use process_supervisor::Exit;
use serde_json::{Map, Value, json};

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
    pub(crate) fn to_json(&self) -> Value {
        let mut fields = Map::new();
        match &self.cause {
            EndCause::Exited(exit) => insert_exit(*exit, |name, value| {
                fields.insert(name.to_owned(), value);
            }),
            EndCause::Closed | EndCause::Stopping => {
                fields.insert("error".to_owned(), json!("closed"));
            }
            EndCause::NotStarted(problem) => {
                let error =
                    if problem.code() == Code::SpawnFailed { "spawn_failed" } else { "install_failed" };
                fields.insert("error".to_owned(), json!(error));
                fields.insert("problem".to_owned(), json!(problem));
            }
        }
        fields.insert("stderrTail".to_owned(), json!(self.stderr_tail));
        Value::Object(fields)
    }

    /// What a client is told whose request this end left without an answer.
    pub(crate) fn to_problem(&self) -> Problem {
        match &self.cause {
            EndCause::Exited(exit) => {
                let detail = format!(
                    "the agent ended by {exit} without answering; its last words are in stderrTail. \
                     POST a request with ?agent= to start it again"
                );
                let mut problem = Problem::new(Code::AgentExited, detail);
                insert_exit(*exit, |name, value| {
                    let name = if name == "code" { "exitCode" } else { name };
                    problem = problem.clone().with(name, value);
                });
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

fn insert_exit(exit: Exit, mut insert: impl FnMut(&'static str, Value)) {
    match exit {
        Exit::Code(code) => insert("code", json!(code)),
        Exit::Signal(number) => insert("signal", json!(Exit::signal_name(number))),
        Exit::Unknown => insert("signal", json!("unknown")),
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
        assert_eq!(code.to_json(), json!({"code":3,"stderrTail":"last words"}));
        let signal = record(EndCause::Exited(Exit::Signal(9)));
        assert_eq!(signal.to_json()["signal"], "SIGKILL");
        assert_eq!(record(EndCause::Closed).to_json()["error"], "closed");
        let missing = Problem::new(Code::AgentNotInstalled, "install it");
        assert_eq!(record(EndCause::NotStarted(missing)).to_json()["error"], "install_failed");
    }

    #[test]
    fn the_problem_carries_the_same_facts() {
        let problem = serde_json::to_value(record(EndCause::Exited(Exit::Code(3))).to_problem()).unwrap();
        assert_eq!(problem["exitCode"], 3);
        assert_eq!(problem["stderrTail"], "last words");
        assert_eq!(record(EndCause::Closed).to_problem().code(), Code::InstanceClosed);
    }
}

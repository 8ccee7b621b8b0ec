//! How an instance's process ended.

use process_supervisor::Exit;
use serde::{Deserialize, Serialize};

use crate::error::{Error, StartFailure};

/// Why an instance no longer has a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", content = "how", rename_all = "snake_case")]
pub enum ExitCause {
    /// The process ended by itself, or something outside the server ended it.
    Exited(Exit),
    /// The instance was closed, on request or because it was idle.
    Closed,
    /// The server shut down.
    ShutDown,
    /// The server died, and the process ended with it. A later server found that in the journal.
    ServerDied,
    /// The process never started.
    NotStarted(StartFailure),
}

/// How a process ended. This is the payload of an `exit` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitRecord {
    /// Why the process ended.
    #[serde(flatten)]
    pub cause: ExitCause,
    /// The end of what the process wrote to its standard error.
    pub stderr_tail: String,
}

impl ExitRecord {
    /// The error for requests that this process left without an answer.
    #[must_use]
    pub fn to_error(&self) -> Error {
        match &self.cause {
            ExitCause::Exited(exit) => {
                Error::AgentExited { exit: *exit, stderr_tail: self.stderr_tail.clone() }
            }
            ExitCause::Closed => Error::InstanceClosed,
            ExitCause::ShutDown => Error::ShuttingDown,
            ExitCause::ServerDied => Error::ServerDied,
            ExitCause::NotStarted(failure) => Error::NotStarted(failure.clone()),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        // The struct consists of text, numbers and lists, so serialising cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StartStep;

    #[test]
    fn an_exit_reads_back_from_what_the_log_holds() {
        let failure = StartFailure::new(StartStep::SpawnFailed, "no such file");
        for cause in [
            ExitCause::Exited(Exit::Code(3)),
            ExitCause::Exited(Exit::Unknown),
            ExitCause::Closed,
            ExitCause::ServerDied,
            ExitCause::NotStarted(failure),
        ] {
            let record = ExitRecord { cause, stderr_tail: "last words".into() };
            assert_eq!(serde_json::from_str::<ExitRecord>(&record.to_json()).unwrap(), record);
        }
    }

    #[test]
    fn a_request_without_an_answer_fails_with_the_same_facts() {
        let record = ExitRecord { cause: ExitCause::Exited(Exit::Code(3)), stderr_tail: "bye".into() };
        let expected = Error::AgentExited { exit: Exit::Code(3), stderr_tail: "bye".into() };
        assert_eq!(record.to_error(), expected);
    }
}

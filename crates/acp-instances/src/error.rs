//! The errors of the engine (this crate).
//!
//! An error says what happened, in terms of instances and messages. What a client should do about it depends
//! on the door (the transport, such as HTTP) that the client uses, so each door turns these errors into its
//! own form, in exactly one place. Errors are part of the log (a failed request, a process that never
//! started), so they can be serialised and read back.

use std::borrow::Cow;
use std::time::Duration;

use process_supervisor::Exit;
use serde::{Deserialize, Serialize};

use crate::request_id::RequestId;
use crate::server_id::ServerId;

/// Why a call failed, or why a request will get no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Error {
    /// There is no such instance.
    #[error("no instance has the id {server_id}")]
    UnknownInstance {
        /// The id.
        server_id: ServerId,
    },
    /// There is no such instance, and no agent was named to start one.
    #[error("no instance has the id {server_id}, and no agent was named")]
    AgentRequired {
        /// The id.
        server_id: ServerId,
    },
    /// The instance is bound to a different agent than the one that was named.
    #[error("{server_id} is bound to the agent `{bound}`, not to `{named}`")]
    AgentMismatch {
        /// The instance.
        server_id: ServerId,
        /// The agent that it is bound to.
        bound: String,
        /// The agent that was named.
        named: String,
    },
    /// The server already has as many instances as its limits allow.
    #[error("{existing} instances exist already")]
    TooManyInstances {
        /// How many there are.
        existing: usize,
    },
    /// As many requests wait for this agent as the limits allow.
    #[error("{open} requests wait for this agent already")]
    TooManyClientRequests {
        /// How many wait.
        open: usize,
    },
    /// A request with the same id still waits for its answer.
    #[error("a request with id {} still waits for its answer", .id.as_json())]
    DuplicateRequestId {
        /// The id.
        id: RequestId,
    },
    /// Another client was the first to answer this agent request.
    #[error("request {} of the agent was answered before", .id.as_json())]
    AlreadyAnswered {
        /// The id of the agent's request.
        id: RequestId,
    },
    /// The idempotency key was used for another message.
    #[error("the idempotency key was used for another message")]
    KeyReused,
    /// The agent answered the message sent earlier under this idempotency key, but that answer is no longer
    /// held.
    #[error("the agent answered this message, but the answer is no longer held")]
    OutcomeGone,
    /// The instance is being closed and accepts no messages.
    #[error("the instance is being closed")]
    InstanceClosing,
    /// Processes of the agent cannot be ended. The instance stays until they end.
    #[error("processes of the agent cannot be ended: {}", list(.pids))]
    StillRunning {
        /// The process ids, as far as they are known.
        pids: Vec<u32>,
    },
    /// The instance was closed while the request waited.
    #[error("the instance was closed while the request waited")]
    InstanceClosed,
    /// The agent's process ended.
    #[error("the agent ended by {exit} without answering")]
    AgentExited {
        /// How the process ended.
        exit: Exit,
        /// The end of what it wrote to its standard error.
        stderr_tail: String,
    },
    /// The server died, and the agent's process ended with it.
    #[error("the server died, and the agent ended with it")]
    ServerDied,
    /// The agent never started.
    #[error("{}", .0.detail)]
    NotStarted(StartFailure),
    /// The agent closed its standard input.
    #[error("the agent no longer reads its input ({reason})")]
    InputClosed {
        /// The error message of the system.
        reason: String,
    },
    /// The agent has not read its input for too long, and its queue is full.
    #[error("the agent has not read its input for {} s and its queue is full", .waited.as_secs())]
    AgentNotReading {
        /// How long the message waited for room.
        waited: Duration,
    },
    /// The agent has not answered in time. Its answer, if it still comes, is in the log.
    #[error("the agent has not answered within {} s", .limit.as_secs_f64())]
    Timeout {
        /// How long the caller waited.
        limit: Duration,
    },
    /// The memory budget for messages is used up.
    #[error("messages take all of the memory that they may")]
    OutOfMemory,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The instance cannot be reached at the moment, or its log cannot be written.
    #[error("the instance cannot be reached right now")]
    Unavailable {
        /// When to try again.
        retry_after: Duration,
    },
    /// This implementation of the engine does not offer the call.
    #[error("{what} is not supported here")]
    Unsupported {
        /// The call.
        what: Cow<'static, str>,
    },
    /// A bug in the server.
    #[error("{what}")]
    Internal {
        /// A description of the bug.
        what: Cow<'static, str>,
    },
}

fn list(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

impl Error {
    /// Creates an error for a bug in the server.
    #[must_use]
    pub const fn internal(what: &'static str) -> Self {
        Self::Internal { what: Cow::Borrowed(what) }
    }
}

/// Why an agent could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartFailure {
    /// The step at which starting failed.
    pub step: StartStep,
    /// What happened and what to do about it.
    pub detail: String,
    /// Additional facts as name and value, such as the last lines of an installer's output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(Cow<'static, str>, String)>,
}

/// The steps of starting an agent at which it can fail; see [`StartFailure::step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartStep {
    /// No agent with that name is known.
    UnknownAgent,
    /// The agent is not installed, and this server may not install it on demand.
    NotInstalled,
    /// The agent has no such version.
    VersionUnavailable,
    /// A runtime that the agent needs is missing.
    RuntimeMissing,
    /// The agent could not be installed.
    InstallFailed,
    /// The disk is full.
    NoSpace,
    /// The agent's program could not be executed.
    SpawnFailed,
}

impl StartFailure {
    /// Creates a failure without further facts.
    #[must_use]
    pub fn new(step: StartStep, detail: impl Into<String>) -> Self {
        Self { step, detail: detail.into(), facts: Vec::new() }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.facts.push((Cow::Borrowed(name), value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_reads_back_from_what_is_written_down() {
        let failure = StartFailure::new(StartStep::InstallFailed, "npm failed").with("step", "install");
        let id = RequestId::parse("\"a\"").unwrap();
        for error in [
            Error::NotStarted(failure),
            Error::AgentExited { exit: Exit::Signal(9), stderr_tail: "last \"words\"".into() },
            Error::DuplicateRequestId { id },
            Error::Timeout { limit: Duration::from_millis(50) },
            Error::UnknownInstance { server_id: ServerId::parse("x").unwrap() },
            Error::KeyReused,
            Error::StillRunning { pids: vec![7, 8] },
            Error::internal("oops"),
        ] {
            let text = serde_json::to_string(&error).unwrap();
            assert_eq!(serde_json::from_str::<Error>(&text).unwrap(), error, "{text}");
        }
    }
}

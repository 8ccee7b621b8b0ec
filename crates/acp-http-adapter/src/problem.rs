//! The only place where an error of the engine becomes a problem document: with a code, a status, and what an
//! HTTP client can do about it.

use std::time::Duration;

use acp_instances::{Error, StartFailure, StartStep};
use http_server::{Code, Problem};
use process_supervisor::Exit;

/// The problem document of an engine error.
#[must_use]
pub fn to_problem(error: &Error) -> Problem {
    match error {
        Error::UnknownInstance { server_id } => Problem::new(
            Code::UnknownServer,
            format!("no instance has the id {server_id}; the first POST with ?agent= creates one"),
        ),
        Error::AgentRequired { server_id } => Problem::new(
            Code::AgentRequired,
            format!("no instance has the id {server_id}; name the agent to start with ?agent="),
        ),
        Error::AgentMismatch { server_id, bound, named } => Problem::new(
            Code::AgentMismatch,
            format!(
                "{server_id} is bound to the agent `{bound}`; use another server id for `{named}`, or DELETE this one first"
            ),
        )
        .with("agent", bound.as_str()),
        Error::TooManyInstances { existing } => Problem::new(
            Code::TooManyInstances,
            format!("{existing} instances are already running; DELETE one that is no longer used"),
        )
        .retry_after(5),
        Error::TooManyClientRequests { open } => Problem::new(
            Code::TooManyPending,
            format!("{open} requests are already waiting for this agent; try again when some are answered"),
        )
        .retry_after(1),
        Error::DuplicateRequestId { .. } => {
            Problem::new(Code::DuplicateRequestId, format!("{error}; use a new id"))
        }
        Error::AlreadyAnswered { .. } => {
            Problem::new(Code::AlreadyAnswered, format!("{error}; the first answer counts"))
        }
        Error::KeyReused => Problem::new(
            Code::IdempotencyKeyReused,
            "this Idempotency-Key was used for another message; use a new key for every message",
        ),
        Error::OutcomeGone => Problem::new(Code::OutcomeGone, format!("{error}; it was on the stream")),
        Error::InstanceClosing => Problem::new(
            Code::InstanceClosing,
            "the instance is being closed; wait for the DELETE to answer, then start a new one",
        ),
        Error::StillRunning { pids } => Problem::new(
            Code::StillRunning,
            format!("{error}; the instance stays `closing` until they end. End them as a user who may, or DELETE again to wait"),
        )
        .with("pids", pids.as_slice()),
        Error::InstanceClosed => Problem::new(
            Code::InstanceClosed,
            "the instance was closed while this request was waiting; POST with ?agent= to start a new one",
        ),
        Error::AgentExited { exit, stderr_tail } => agent_exited(*exit, stderr_tail),
        Error::NotStarted(failure) => start_failure_to_problem(failure),
        Error::InputClosed { .. } => {
            Problem::new(Code::WriteFailed, format!("{error}; DELETE the instance and start a new one"))
        }
        Error::AgentNotReading { .. } => {
            Problem::new(Code::AgentNotReading, format!("{error}; wait for it, or DELETE it")).retry_after(10)
        }
        Error::Timeout { .. } => Problem::new(
            Code::RequestTimeout,
            format!(
                "{error}; a late answer is sent on the stream. With `Prefer: respond-async` the server does not wait"
            ),
        ),
        Error::OutOfMemory => Problem::new(
            Code::MemoryBudgetExhausted,
            "queued messages use all of --memory-budget; try again when agents have read them",
        )
        .retry_after(5),
        Error::ShuttingDown => {
            Problem::new(Code::ServerStopping, "the server is shutting down; try again when it is back")
                .retry_after(5)
        }
        Error::ServerDied => Problem::new(
            Code::AgentExited,
            format!("{error} before it answered; POST a request with ?agent= to start it again"),
        )
        .with("reason", "server_died"),
        Error::Unavailable { retry_after } => {
            Problem::new(Code::Unavailable, format!("{error}; try again")).retry_after(seconds(*retry_after))
        }
        Error::Unsupported { .. } | Error::Internal { .. } => Problem::new(Code::Internal, error.to_string()),
    }
}

fn agent_exited(exit: Exit, stderr_tail: &str) -> Problem {
    let problem = Problem::new(
        Code::AgentExited,
        format!(
            "the agent ended by {exit} without answering; stderrTail has the end of its standard error. \
             POST a request with ?agent= to start it again"
        ),
    );
    let problem = match exit {
        Exit::Code(code) => problem.with("exitCode", code),
        Exit::Signal(number) => problem.with("signal", Exit::signal_name(number)),
        Exit::Unknown => problem.with("signal", "unknown"),
    };
    problem.with("stderrTail", stderr_tail)
}

/// The problem document of an agent that did not start.
#[must_use]
pub fn start_failure_to_problem(failure: &StartFailure) -> Problem {
    let code = match failure.step {
        StartStep::UnknownAgent => Code::UnknownAgent,
        StartStep::NotInstalled => Code::AgentNotInstalled,
        StartStep::VersionUnavailable => Code::VersionUnavailable,
        StartStep::RuntimeMissing => Code::RuntimeMissing,
        StartStep::InstallFailed => Code::InstallFailed,
        StartStep::NoSpace => Code::NoSpace,
        StartStep::SpawnFailed => Code::SpawnFailed,
    };
    let problem = Problem::new(code, failure.detail.as_str());
    failure.facts.iter().fold(problem, |problem, (name, value)| problem.with(name.clone(), value.as_str()))
}

/// Whole seconds, at least one: with 0 a client would try again at once.
fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_problem_has_the_code_or_signal_and_the_stderr_tail() {
        let json = |exit| {
            let error = Error::AgentExited { exit, stderr_tail: "last words".into() };
            serde_json::to_value(to_problem(&error)).unwrap()
        };
        let code = json(Exit::Code(3));
        assert_eq!((&code["exitCode"], &code["stderrTail"]), (&3.into(), &"last words".into()));
        assert_eq!(json(Exit::Signal(9))["signal"], "SIGKILL");
    }

    #[test]
    fn the_facts_of_a_failed_start_are_extras() {
        let failure = StartFailure::new(StartStep::InstallFailed, "npm failed").with("step", "download");
        let problem = to_problem(&Error::NotStarted(failure));
        assert_eq!(problem.code(), Code::InstallFailed);
        assert_eq!(serde_json::to_value(problem).unwrap()["step"], "download");
    }

    #[test]
    fn an_instance_out_of_reach_says_when_to_try_again() {
        let problem = to_problem(&Error::Unavailable { retry_after: Duration::from_millis(200) });
        assert_eq!(problem.status(), 503);
        assert!(format!("{problem:?}").contains("retry-after"));
    }
}

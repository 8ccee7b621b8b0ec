//! A deterministic ACP agent for tests and for the first five minutes.
//!
//! It is a real agent on the official SDK: every message it reads and writes goes through the
//! SDK's typed protocol. What it says is decided by the first word of the prompt (see `prompts`),
//! so a test can ask for exactly the traffic it wants to see.
//!
//! The same input gives the same bytes: session, message and tool call ids count up, its own
//! requests are numbered from 0, and no clock and no random number reaches the wire.
//!
//! | module | what it holds |
//! |---|---|
//! | `wire` | stdin and stdout, request numbering, back pressure, noise and sudden death |
//! | `methods` | which function answers which ACP method |
//! | `agent` | the state that all methods share |
//! | `session` | sessions, their settings, their history, the state file |
//! | `turn` | one prompt being answered: updates, requests to the client, cancellation |
//! | `prompts` | the abilities, one file a family |
//!
//! It refuses to be clever: no model, no network, no tools of its own on the machine.

mod agent;
mod extension;
mod initialize;
mod methods;
mod prompts;
mod session;
mod turn;
mod wire;

use std::path::PathBuf;

/// Why the agent could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum MockAgentError {
    /// The runtime or one of the two stdio threads could not be started.
    #[error("could not start: {0}")]
    Start(#[source] std::io::Error),
    /// The file named by `MOCK_AGENT_STATE` exists but cannot be used.
    #[error("cannot use the state file {path}: {reason}")]
    State {
        /// The file that was named.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// stdout was closed or cannot be written.
    #[error("stdout is gone")]
    Output,
    /// The SDK ended the connection with an error.
    #[error("the connection failed: {0}")]
    Connection(#[from] agent_client_protocol::Error),
}

/// Serves ACP on this process's stdin and stdout until stdin ends.
///
/// Some prompts (`crash`, `exit`) end the whole process instead of returning.
///
/// # Errors
///
/// See [`MockAgentError`].
pub fn run() -> Result<(), MockAgentError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(MockAgentError::Start)?;
    let wire = wire::Wire::open().map_err(MockAgentError::Start)?;
    let agent = agent::Agent::from_environment(wire.flow())?;
    let served = runtime.block_on(wire.serve(agent));
    // A `stderr` prompt may still sit in a blocking write that nobody reads: do not wait for it.
    runtime.shutdown_background();
    served
}

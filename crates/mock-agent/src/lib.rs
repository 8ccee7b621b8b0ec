//! A deterministic ACP agent for tests and for trying out the server.
//!
//! It is a real agent, built on the official SDK: every message it reads and writes goes through the SDK's typed
//! protocol. The first word of the prompt selects its answer (see `prompts`), so a test can request exactly the
//! traffic that it needs.
//!
//! The same input gives the same output bytes: session, message and tool call ids count up, its own requests are
//! numbered from 0, and no clock and no random number reaches the output.
//!
//! | module | contents |
//! |---|---|
//! | `wire` | stdin and stdout, request numbering, back pressure, noise and crashes |
//! | `methods` | which function answers which ACP method |
//! | `agent` | the state that all methods share |
//! | `session` | sessions, their settings, their history, the state file |
//! | `turn` | the answer to one prompt: updates, requests to the client, cancellation |
//! | `prompts` | the prompt commands, one file per group |
//!
//! Deliberately absent: a model, network access, and tools that change the machine.

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
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// stdout was closed or cannot be written.
    #[error("stdout is closed")]
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
    // A `stderr` prompt may still block in a write whose data nobody reads, so do not wait for it.
    runtime.shutdown_background();
    served
}

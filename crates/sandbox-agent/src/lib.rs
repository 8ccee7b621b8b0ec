//! Sandbox Agent: one program that is the server, the command line, the mock agent, and the supervisor of every agent
//! that it starts.
//!
//! It composes the other crates and is not meant to be built upon: the engine's API is in `acp-instances`. The one thing
//! here is [`main_with`], the whole program with an engine of the caller's choice.

mod cli;
mod engine;
mod launcher;
mod logs;
mod notify;
mod otlp;
mod process_metrics;
mod routes;
mod server;
mod settings;

use std::process::ExitCode;
use std::sync::Arc;

use acp_instances::Instances;

/// Runs the program: does what the command line asks for and returns the exit code. To be called first thing in `main`,
/// before there are threads.
///
/// `wrap` receives the engine that runs agents on this machine and returns the one to use, once per engine: for `server`
/// and for a `prompt` without `--url`. The binary returns the engine as it is. Tests and embedders put their own
/// implementation in front of it, or in its place. Every door, the routes about agents and the shutdown use what `wrap`
/// returned; only `/metrics` reads what the engine of this machine counts.
#[must_use]
pub fn main_with(wrap: fn(Arc<dyn Instances>) -> Arc<dyn Instances>) -> ExitCode {
    // Before anything else: these roles need a process without threads.
    process_supervisor::become_supervisor_if_asked();
    // In every other role the token may be in the environment, and agents may run as the same user. The first process of
    // a container keeps the environment of the server that it starts.
    server::hide_from_agents();
    process_supervisor::become_init_if_first_process();
    cli::run(wrap)
}

//! Sandbox Agent: one program that is the server, the command line, the mock agent, and the supervisor of every agent
//! that it starts.
//!
//! This crate composes the others and is not meant as a library. The engine, which runs the agents, has its API in
//! `acp-instances`. The only public item is [`main_with`], the whole program with an engine of the caller's choice.

mod cli;
mod engine;
mod launcher;
mod log_writer;
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

/// Runs the program: executes the command line and returns the exit code. Call it at the start of `main`, before any
/// thread is started.
///
/// `wrap` receives the engine that runs agents on this machine and returns the engine to use. It is called
/// once per engine: for `server` and for a `prompt` without `--url`. The binary returns the engine unchanged.
/// Tests and embedders wrap or replace it with their own implementation. Every endpoint for instances, the
/// routes about agents and the shutdown use the engine that `wrap` returned; only `/metrics` reads the
/// counters of the local engine.
#[must_use]
pub fn main_with(wrap: fn(Arc<dyn Instances>) -> Arc<dyn Instances>) -> ExitCode {
    // These checks come first, because a supervisor and an init need a process without threads.
    process_supervisor::become_supervisor_if_asked();
    // In every other role, the environment may contain the token, which agents that run as the same user could read. This
    // includes process 1 of a container, since the server that it starts inherits its environment.
    server::hide_from_agents();
    process_supervisor::become_init_if_first_process();
    let code = cli::run(wrap);
    logs::flush();
    code
}

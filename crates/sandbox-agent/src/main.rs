//! The `sandbox-agent` binary: one file that is the server, the command line, the mock agent, and the supervisor
//! of every agent it starts.

mod cli;
mod launcher;
mod logs;
mod notify;
#[cfg(feature = "otlp")]
mod otlp;
mod process_measures;
mod routes;
mod server;
mod settings;

use std::process::ExitCode;

/// The allocator of musl takes one lock for all threads, and that of glibc is slower on what a request needs; see
/// `bench/RESULTS.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: these roles want a process without threads.
    process_supervisor::become_supervisor_if_asked();
    // In every other role the token may be in the environment, and agents may run as the same user. The first process of
    // a container keeps the environment of the server that it starts.
    server::hide_from_agents();
    process_supervisor::become_init_if_first_process();
    cli::run()
}

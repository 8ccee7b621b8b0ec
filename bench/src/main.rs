//! Measures the server against the upper bound on the same machine, and against its peer: in one run, as ratios.
//!
//! One binary with several roles: the agent, the limits, and the load. `run` coordinates them and starts the other
//! roles as separate processes, so that each side has its own process.

mod agent;
mod context;
mod direct;
mod http;
mod limits;
mod measure;
mod process;
mod report;
mod run;
mod servers;

use std::process::ExitCode;

/// The name of the peer's agent program; this binary is put in its place.
const PEER_AGENT: &str = "mock-acp";

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let started_as = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let result = match rest.split_first() {
        _ if started_as.ends_with(PEER_AGENT) => agent::run(),
        None => run::run(&[]),
        Some((role, rest)) => match role.as_str() {
            "agent" => agent::run(),
            "limit-http" => limits::serve_http(),
            "limit-stream" => limits::serve_stream(rest),
            "run" => run::run(rest),
            "load" => measure::load(rest),
            other => {
                Err(format!("unknown role {other}; use run, load, agent, limit-http or limit-stream").into())
            }
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Any error ends the measurement of its side, so errors need no types.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

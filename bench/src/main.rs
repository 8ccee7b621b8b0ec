//! Measures the server against what is possible at all on the same machine, and against its peer: in one run, as
//! ratios.
//!
//! One binary with several roles: the agent, the limits, and the load. `run` plays them all; the other roles are
//! what it starts as separate processes, so that each side has a process of its own.

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

/// The name under which the peer starts its agent; this binary is put in that place.
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

/// Whatever goes wrong ends the measurement of its side; nothing here is worth telling errors apart.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

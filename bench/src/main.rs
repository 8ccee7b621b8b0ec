//! Measures the bridge against what is possible at all on the same machine, in one run, as ratios.
//!
//! One binary with several roles: the agent, the limits, and the load. `run` plays them all; the other roles are
//! what it starts as separate processes, so that each side has a process of its own.

mod agent;
mod http;
mod limits;
mod requests;
mod run;
mod servers;
mod statistics;
mod streams;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let role = arguments.next().unwrap_or_else(|| "run".to_owned());
    let rest: Vec<String> = arguments.collect();
    let result = match role.as_str() {
        "agent" => agent::run(),
        "limit-http" => limits::serve_http(),
        "limit-stream" => limits::serve_stream(&rest),
        "run" => run::run(&rest),
        other => Err(format!("unknown role {other}; use run, agent, limit-http or limit-stream").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whatever goes wrong ends the measurement; nothing here is worth telling errors apart.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

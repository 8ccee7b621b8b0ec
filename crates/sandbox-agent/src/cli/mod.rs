//! The command line: one file a command.
//!
//! Exit codes: 0 done, 1 failed, 2 the command line was wrong, 130 interrupted.

mod agents;
mod api;
mod install;
mod model;
mod output;

use std::process::ExitCode;

use agent_catalog::CatalogError;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use crate::settings::ServerArguments;

/// Puts any ACP agent process behind HTTP.
#[derive(Debug, Parser)]
#[command(name = "sandbox-agent", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the server
    Server(Box<ServerArguments>),
    /// Install agents here, without a server
    Install(install::InstallArguments),
    /// See, lock, pack and unpack the agents of this machine
    Agents(agents::AgentsArguments),
    /// Call the endpoints of a running server
    Api(api::ApiArguments),
    /// Start a scripted model: real agents, free and offline
    Model(model::ModelArguments),
    /// Be the mock agent: speak ACP on standard input and output
    MockAgent,
}

/// Runs what the command line asks for.
pub(crate) fn run() -> ExitCode {
    match Arguments::parse().command {
        Command::Server(arguments) => report(crate::server::run(&arguments)),
        Command::Install(arguments) => finish(in_runtime(install::run(arguments))),
        Command::Agents(arguments) => finish(in_runtime(agents::run(arguments))),
        Command::Api(arguments) => finish(in_runtime(api::run(arguments))),
        Command::Model(arguments) => finish(in_runtime(model::run(arguments))),
        Command::MockAgent => report(mock_agent::run()),
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum CliError {
    #[error("{0}")]
    Settings(#[from] crate::settings::SettingsError),
    #[error("{}", explain(.0))]
    Catalog(#[from] CatalogError),
    #[error("{failed} of {total} agents could not be installed")]
    SomeFailed { failed: usize, total: usize },
    #[error(
        "cannot reach {url}: {reason}; is the server running? start it with `sandbox-agent server`, or name it with --url"
    )]
    Unreachable { url: String, reason: String },
    #[error("the server answered {status}: {detail}")]
    Refused { status: u16, detail: String },
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// The reason, with what a person at a terminal needs to go on.
fn explain(error: &CatalogError) -> String {
    match (error, error.output_tail()) {
        (CatalogError::UnknownAgent { .. }, _) => {
            format!("{error}; `sandbox-agent agents list` shows those there are")
        }
        (_, Some(tail)) => format!("{error}\n{tail}"),
        (_, None) => error.to_string(),
    }
}

/// Commands other than the server need no more than one thread.
///
/// A signal ends the command by ending the runtime: the tools of an install run in process groups of their own, which
/// a terminal's interrupt does not reach, and are killed when their task is dropped.
fn in_runtime(work: impl Future<Output = Result<(), CliError>>) -> Result<(), CliError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            result = work => result,
            _ = interrupt.recv() => Err(CliError::Interrupted),
            _ = terminate.recv() => Err(CliError::Interrupted),
        }
    })
}

fn finish(result: Result<(), CliError>) -> ExitCode {
    let interrupted = matches!(result, Err(CliError::Interrupted));
    let code = report(result);
    // What a shell makes of a program that Ctrl-C has ended.
    if interrupted { ExitCode::from(130) } else { code }
}

fn report<E: std::error::Error>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sandbox-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}

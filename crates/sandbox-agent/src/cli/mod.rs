//! The command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Start the server.
    Server(Box<ServerArguments>),
    /// Be the mock agent: speak ACP on standard input and output.
    MockAgent,
}

/// Runs what the command line asks for.
pub(crate) fn run() -> ExitCode {
    match Arguments::parse().command {
        Command::Server(arguments) => report(crate::server::run(&arguments)),
        Command::MockAgent => report(mock_agent::run()),
    }
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

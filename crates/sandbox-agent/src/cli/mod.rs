//! The command line: one file a command.
//!
//! `exit` has the exit codes, `error` what is said when something fails. Results go to standard output, everything
//! else to standard error.

mod acp;
mod agents;
mod api;
mod client;
mod config;
#[cfg(test)]
mod documentation;
mod error;
mod exit;
mod fs;
mod input;
mod install;
mod model;
mod nearest;
mod output;
mod progress;
mod prompt;
mod shell;
mod style;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use self::error::CliError;
use self::exit::Exit;
use self::output::Format;
use crate::engine::Wrap;
use crate::settings::ServerArguments;

/// How long threads may take to tidy up after a command that was interrupted.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Puts any ACP agent process behind HTTP.
#[derive(Debug, Parser)]
#[command(name = "sandbox-agent", version, about, arg_required_else_help = true, after_help = exit::table())]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the server
    Server(Box<ServerArguments>),
    /// Say something to an agent and see what it does
    Prompt(Box<prompt::PromptArguments>),
    /// Install agents here, without a server
    Install(install::InstallArguments),
    /// See, lock, pack and unpack the agents of this machine
    Agents(agents::AgentsArguments),
    /// List, read, write, move and watch the files of a server
    Fs(fs::FsArguments),
    /// Keep MCP servers for a directory
    Mcp(config::ConfigArguments<config::McpServer>),
    /// Keep skills for a directory
    Skills(config::ConfigArguments<config::Skills>),
    /// List instances, send messages to them, see what they say, end them
    Acp(acp::AcpArguments),
    /// Call the endpoints of a running server
    Api(api::ApiArguments),
    /// Print a completion script for a shell
    Completions(shell::CompletionsArguments),
    /// Print a page for `man`
    Man(shell::ManArguments),
    /// Start a scripted model: real agents, free and offline
    Model(model::ModelArguments),
    /// Be the mock agent: speak ACP on standard input and output
    MockAgent,
}

impl Command {
    /// How it prints, failures included.
    const fn format(&self) -> Format {
        match self {
            Self::Prompt(arguments) => arguments.format(),
            Self::Install(arguments) => arguments.format(),
            Self::Agents(arguments) => arguments.format(),
            Self::Fs(arguments) => arguments.format(),
            Self::Mcp(arguments) => arguments.format(),
            Self::Skills(arguments) => arguments.format(),
            Self::Acp(arguments) => arguments.format(),
            Self::Api(arguments) => arguments.format(),
            Self::Server(_) | Self::Completions(_) | Self::Man(_) | Self::Model(_) | Self::MockAgent => {
                Format::Text
            }
        }
    }
}

/// Runs what the command line asks for.
pub(crate) fn run(wrap: Wrap) -> ExitCode {
    let command = Arguments::parse().command;
    let format = command.format();
    let result = match command {
        Command::Server(arguments) => crate::server::run(&arguments, wrap).map_err(CliError::from),
        Command::Prompt(arguments) => prompt::run(&arguments, wrap),
        Command::Install(arguments) => in_runtime(install::run(arguments)),
        Command::Agents(arguments) => in_runtime(agents::run(arguments)),
        Command::Fs(arguments) => in_runtime(fs::run(arguments)),
        Command::Mcp(arguments) => in_runtime(config::run(arguments)),
        Command::Skills(arguments) => in_runtime(config::run(arguments)),
        Command::Acp(arguments) => in_runtime(acp::run(arguments)),
        Command::Api(arguments) => in_runtime(api::run(arguments)),
        Command::Completions(arguments) => shell::complete(&arguments, Arguments::command()),
        Command::Man(arguments) => shell::explain(&arguments, Arguments::command()),
        Command::Model(arguments) => until_signalled(in_runtime(model::run(arguments))),
        Command::MockAgent => mock_agent::run().map_err(|error| CliError::AgentFailed(error.to_string())),
    };
    report(result, format).into()
}

/// Commands other than the server and the prompt need no more than one thread.
///
/// A signal ends the command by ending the runtime: the tools of an install run in process groups of their own, which
/// a terminal's interrupt does not reach, and are killed when their task is dropped.
fn in_runtime(work: impl Future<Output = Result<(), CliError>>) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            result = work => result,
            _ = interrupt.recv() => Err(CliError::Interrupted),
            _ = terminate.recv() => Err(CliError::Interrupted),
        }
    });
    // A thread that waits for standard input or a slow disk must not keep the process.
    runtime.shutdown_timeout(LAST_WORK);
    result
}

/// A signal is how a command ends that serves: no failure.
fn until_signalled(result: Result<(), CliError>) -> Result<(), CliError> {
    match result {
        Err(CliError::Interrupted) => Ok(()),
        other => other,
    }
}

/// Says what went wrong, but for output that nobody reads any more: its reader knows.
fn report(result: Result<(), CliError>, format: Format) -> Exit {
    let Err(error) = result else { return Exit::Done };
    let exit = error.exit();
    let text = match format {
        _ if exit == Exit::OutputClosed => return exit,
        Format::Text => format!("sandbox-agent: {error}\n"),
        Format::Json => format!("{}\n", error.to_json()),
    };
    // Nobody may read this either.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    exit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}

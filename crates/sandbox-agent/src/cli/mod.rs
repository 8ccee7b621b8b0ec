//! The command line: one file per command.
//!
//! `exit` has the exit codes, `error` the error messages, `examples` the examples of the help texts. Results go to
//! standard output, everything else to standard error.

mod acp;
mod agents;
mod api;
mod client;
mod config;
#[cfg(test)]
mod documentation;
mod each_agent;
mod error;
mod examples;
mod exit;
mod fs;
mod input;
mod install;
mod model;
mod nearest;
mod output;
mod progress;
mod prompt;
mod prune;
mod shell;
mod style;
mod table;
mod uninstall;
mod update;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use self::error::CliError;
use self::exit::Exit;
use self::output::Format;
use crate::engine::WrapEngine;
use crate::settings::ServerArguments;

/// How long threads may take to clean up after an interrupted command.
const CLEANUP_LIMIT: Duration = Duration::from_secs(1);

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
    /// Send a prompt to an agent and print its answer
    Prompt(Box<prompt::PromptArguments>),
    /// Install agents on this machine; needs no server
    Install(install::InstallArguments),
    /// Update installed agents on this machine; needs no server
    Update(update::UpdateArguments),
    /// Remove agents from this machine; needs no server
    Uninstall(uninstall::UninstallArguments),
    /// Delete old versions, interrupted installs and unused runtimes on this machine; needs no server
    Prune(prune::PruneArguments),
    /// List, lock, pack and unpack the agents on this machine
    Agents(agents::AgentsArguments),
    /// List, read, write, move and watch files on a server
    Fs(fs::FsArguments),
    /// Manage the MCP servers that a server stores for a directory
    Mcp(config::ConfigArguments<config::McpServer>),
    /// Manage the skills that a server stores for a directory
    Skills(config::ConfigArguments<config::Skills>),
    /// List and close instances, send messages to them and stream their answers
    Acp(acp::AcpArguments),
    /// Call any endpoint of a running server
    Api(api::ApiArguments),
    /// Print a completion script for a shell
    Completions(shell::CompletionsArguments),
    /// Print the man page of a command
    Man(shell::ManArguments),
    /// Start a scripted model, to try real agents offline and without an account
    Model(model::ModelArguments),
    /// Run the mock agent, which speaks ACP on standard input and output
    MockAgent,
}

impl Command {
    /// The format of the command's results and errors.
    const fn format(&self) -> Format {
        match self {
            Self::Prompt(arguments) => arguments.format(),
            Self::Install(arguments) => arguments.format(),
            Self::Update(arguments) => arguments.format(),
            Self::Uninstall(arguments) => arguments.format(),
            Self::Prune(arguments) => arguments.format(),
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

/// The definition of the command line, with examples.
fn command() -> clap::Command {
    examples::add_to(Arguments::command())
}

/// Runs the command of the command line.
pub(crate) fn run(wrap: WrapEngine) -> ExitCode {
    let parsed = Arguments::from_arg_matches(&command().get_matches());
    let command = parsed.unwrap_or_else(|error| error.format(&mut command()).exit()).command;
    let format = command.format();
    let result = match command {
        Command::Server(arguments) => crate::server::run(&arguments, wrap).map_err(CliError::from),
        Command::Prompt(arguments) => prompt::run(&arguments, wrap),
        Command::Install(arguments) => in_runtime(install::run(arguments)),
        Command::Update(arguments) => in_runtime(update::run(arguments)),
        Command::Uninstall(arguments) => in_runtime(uninstall::run(arguments)),
        Command::Prune(arguments) => in_runtime(prune::run(arguments)),
        Command::Agents(arguments) => in_runtime(agents::run(arguments)),
        Command::Fs(arguments) => in_runtime(fs::run(arguments)),
        Command::Mcp(arguments) => in_runtime(config::run(arguments)),
        Command::Skills(arguments) => in_runtime(config::run(arguments)),
        Command::Acp(arguments) => in_runtime(acp::run(arguments)),
        Command::Api(arguments) => in_runtime(api::run(arguments)),
        Command::Completions(arguments) => shell::print_completions(&arguments, self::command()),
        Command::Man(arguments) => shell::print_man_page(&arguments, self::command()),
        Command::Model(arguments) => signal_is_success(in_runtime(model::run(arguments))),
        Command::MockAgent => mock_agent::run().map_err(|error| CliError::AgentFailed(error.to_string())),
    };
    report(result, format).into()
}

/// Runs a command on one thread, which is enough for all commands except the server and `prompt`.
///
/// A signal ends the command by dropping its future. The tools of an install run in their own process groups, which
/// Ctrl-C does not reach, and are killed when their future is dropped.
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
    // A thread that waits for standard input or a slow disk must not keep the process alive.
    runtime.shutdown_timeout(CLEANUP_LIMIT);
    result
}

/// A command that serves until it is interrupted succeeds when a signal ends it.
fn signal_is_success(result: Result<(), CliError>) -> Result<(), CliError> {
    match result {
        Err(CliError::Interrupted) => Ok(()),
        other => other,
    }
}

/// Prints an error, unless standard output was closed by its reader.
fn report(result: Result<(), CliError>, format: Format) -> Exit {
    let Err(error) = result else { return Exit::Success };
    let exit = error.exit();
    let text = match format {
        _ if exit == Exit::OutputClosed => return exit,
        Format::Text => format!("sandbox-agent: {error}\n"),
        Format::Json => format!("{}\n", error.to_json()),
    };
    // Standard error may be closed too.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    exit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}

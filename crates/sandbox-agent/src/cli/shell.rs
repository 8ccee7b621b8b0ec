//! `sandbox-agent completions` and `sandbox-agent man`. Both are generated from the definition of the command line.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use super::error::CliError;
use super::output::{print_bytes, print_line};

#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell to complete commands in
    shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// The command, such as `fs put` [default: the program itself]
    words: Vec<String>,
    /// Write the man pages of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    output: Option<PathBuf>,
}

/// Prints a completion script for a shell.
pub(super) fn print_completions(
    arguments: &CompletionsArguments,
    mut command: Command,
) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "sandbox-agent", &mut script);
    print_bytes(&script)
}

/// Prints a man page, or writes all of them to a directory.
pub(super) fn print_man_page(arguments: &ManArguments, mut command: Command) -> Result<(), CliError> {
    command.build();
    if let Some(folder) = &arguments.output {
        std::fs::create_dir_all(folder).map_err(|error| CliError::local(folder, &error))?;
        return write_all(&command, folder);
    }
    let mut found = &command;
    for word in &arguments.words {
        found = found.find_subcommand(word).ok_or_else(|| {
            CliError::NotFound(format!("there is no command `{}`", arguments.words.join(" ")))
        })?;
    }
    print_bytes(&page(found)?)
}

fn page(command: &Command) -> Result<Vec<u8>, CliError> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text)?;
    Ok(text)
}

fn write_all(command: &Command, folder: &Path) -> Result<(), CliError> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page(command)?).map_err(|error| CliError::local(&path, &error))?;
    print_line(path.display())?;
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
    inner.into_iter().try_for_each(|inner| write_all(inner, folder))
}

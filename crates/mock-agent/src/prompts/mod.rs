//! The prompt language: the first word selects a command, the rest is its argument.
//!
//! [`PROMPT_COMMANDS`] is the only definition: dispatch, the help text, the slash commands and (checked by a test)
//! the README follow it.

mod client_files;
mod content;
mod faults;
mod permission;
mod question;
mod report;
mod session_updates;
mod terminal;
mod text;
mod timing;
mod work;

use agent_client_protocol::BoxFuture;
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate, UnstructuredCommandInput,
};

use crate::turn::{Outcome, Stop, Turn};

/// A command of the prompt language.
pub(crate) struct PromptCommand {
    name: &'static str,
    /// The arguments after the name; empty if there are none.
    arguments: &'static str,
    description: &'static str,
    run: for<'turn> fn(&'turn Turn, &'turn str) -> BoxFuture<'turn, Outcome>,
}

macro_rules! prompt_commands {
    ($($name:literal $arguments:literal $description:literal => $run:path;)*) => {
        &[$(PromptCommand {
            name: $name,
            arguments: $arguments,
            description: $description,
            run: |turn, rest| Box::pin($run(turn, rest)),
        },)*]
    };
}

/// All prompt commands.
pub(crate) const PROMPT_COMMANDS: &[PromptCommand] = prompt_commands! {
    "help" "" "lists these commands" => text::help;
    "echo" "TEXT" "answers with TEXT" => text::echo;
    "stream" "N [BYTES]" "streams N chunks of BYTES each (default: 32)" => text::stream;
    "big" "BYTES" "sends one chunk of BYTES" => text::big;
    "markdown" "" "answers with headings, lists, code, a table and a link" => text::markdown;
    "think" "" "sends reasoning, then answers" => text::think;
    "plan" "" "makes a plan and works through it" => work::plan;
    "tool" "" "calls a tool that reads a file" => work::tool;
    "diff" "" "calls a tool that edits a file, with a diff" => work::diff;
    "permission" "" "requests a permission and reports the answer" => permission::one;
    "permissions" "N" "requests N permissions at once" => permission::many;
    "question" "" "asks a question (`_sandboxagent/session/request_question`)" => question::one;
    "questions" "N" "asks N questions at once" => question::many;
    "elicit" "" "requests a form to be filled in (`elicitation/create`)" => question::elicit;
    "read" "PATH" "reads a file through the client" => client_files::read;
    "write" "PATH TEXT" "writes a file through the client" => client_files::write;
    "terminal" "COMMAND..." "runs a command in a terminal that the client provides" => terminal::terminal;
    "slow" "[SECONDS]" "sends a chunk every 100 ms for SECONDS (default: 5)" => timing::slow;
    "forever" "" "sends a chunk every 100 ms until cancelled" => timing::forever;
    "image" "" "answers with an image" => content::image;
    "audio" "" "answers with a sound" => content::audio;
    "resource" "" "answers with an embedded resource and a link" => content::resource;
    "usage" "" "sends a usage update with a cost" => session_updates::usage;
    "title" "TEXT" "renames the session" => session_updates::title;
    "commands" "" "announces the slash commands again" => session_updates::commands;
    "mode" "ID" "changes the mode from the agent's side" => session_updates::mode;
    "ended" "" "sends `_sandboxagent/session/ended`" => session_updates::ended;
    "unparsed" "" "sends `_sandboxagent/agent/unparsed`" => session_updates::unparsed;
    "meta" "" "reports the `_meta` and the attachments it received" => report::meta;
    "mcp" "" "lists the MCP servers it received" => report::mcp;
    "env" "NAME" "reports the value of an environment variable" => report::env;
    "cwd" "" "reports the session's and the process's directory" => report::cwd;
    "refuse" "" "stops with `refusal`" => faults::refuse;
    "max" "" "stops with `max_tokens`" => faults::max;
    "error" "" "answers the prompt with a JSON-RPC error" => faults::error;
    "noise" "" "prints lines that are not JSON-RPC around its answer" => faults::noise;
    "stderr" "N" "writes N bytes to stderr" => faults::stderr;
    "exit" "CODE" "answers, then exits with CODE" => faults::exit;
    "crash" "[CODE]" "exits with CODE (default: 1) in the middle of the turn" => faults::crash;
};

impl PromptCommand {
    /// The name with its arguments.
    fn usage(&self) -> String {
        format!("{} {}", self.name, self.arguments).trim_end().to_owned()
    }
}

/// Answers a prompt.
pub(crate) async fn answer(turn: &Turn, text: &str) -> Outcome {
    let (word, rest) = first_word(text);
    match PROMPT_COMMANDS.iter().find(|command| command.name.eq_ignore_ascii_case(word)) {
        Some(command) => (command.run)(turn, rest).await,
        None => text::quote(turn, text).await,
    }
}

/// The first word without its slash, and the rest.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word.strip_prefix('/').unwrap_or(word), rest)
}

/// The slash commands, as an update.
pub(crate) fn available_commands() -> SessionUpdate {
    let commands = PROMPT_COMMANDS.iter().map(|command| {
        let available = AvailableCommand::new(command.name, command.description);
        if command.arguments.is_empty() {
            return available;
        }
        let input = UnstructuredCommandInput::new(command.arguments);
        available.input(AvailableCommandInput::Unstructured(input))
    });
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands.collect()))
}

/// Parses the `index`th word of an argument as a number up to `limit`.
fn number(rest: &str, index: usize, limit: u64) -> Result<Option<u64>, Stop> {
    let Some(word) = rest.split_whitespace().nth(index) else { return Ok(None) };
    match word.parse() {
        Ok(number) if number <= limit => Ok(Some(number)),
        _ => {
            Err(Stop::Say(format!("{word} is not a whole number from 0 to {limit}. Say help for the usage.")))
        }
    }
}

/// Like [`number`], but the number is required.
fn required_number(rest: &str, index: usize, limit: u64) -> Result<u64, Stop> {
    number(rest, index, limit)?
        .ok_or_else(|| Stop::Say("A number is missing. Say help for the usage.".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_loses_its_slash_and_the_rest_is_unchanged() {
        assert_eq!(first_word("/echo  two  spaces "), ("echo", " two  spaces "));
        assert_eq!(first_word("  ECHO\nline"), ("ECHO", "line"));
        assert_eq!(first_word(""), ("", ""));
    }

    #[test]
    fn a_number_beyond_its_limit_is_refused() {
        assert!(matches!(number("3 9", 1, 9), Ok(Some(9))));
        assert!(matches!(number("3", 1, 9), Ok(None)));
        assert!(matches!(number("10", 0, 9), Err(Stop::Say(_))));
        assert!(matches!(number("-1", 0, 9), Err(Stop::Say(_))));
        assert!(matches!(required_number("", 0, 9), Err(Stop::Say(_))));
    }

    #[test]
    fn command_names_are_unique() {
        for (index, command) in PROMPT_COMMANDS.iter().enumerate() {
            assert!(
                PROMPT_COMMANDS[..index].iter().all(|other| other.name != command.name),
                "{}",
                command.name
            );
        }
    }

    #[test]
    fn the_readme_lists_every_command_with_its_arguments() {
        let readme = include_str!("../../README.md");
        for command in PROMPT_COMMANDS {
            let row = format!("| `{}` | {} |", command.usage(), command.description);
            assert!(readme.contains(&row), "README.md lacks: {row}");
        }
    }
}

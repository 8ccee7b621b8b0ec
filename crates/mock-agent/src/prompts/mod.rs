//! The prompt language: the first word chooses an ability, the rest is its argument.
//!
//! [`ABILITIES`] is the one definition: dispatch, the help text, the slash commands and (by a test)
//! the README all follow it.

mod client_files;
mod content;
mod faults;
mod permission;
mod question;
mod report;
mod session_news;
mod terminal;
mod text;
mod timing;
mod work;

use agent_client_protocol::BoxFuture;
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate, UnstructuredCommandInput,
};

use crate::turn::{Outcome, Stop, Turn};

/// One thing the agent can do.
pub(crate) struct Ability {
    name: &'static str,
    /// What may follow the name; empty for nothing.
    arguments: &'static str,
    does: &'static str,
    run: for<'turn> fn(&'turn Turn, &'turn str) -> BoxFuture<'turn, Outcome>,
}

macro_rules! abilities {
    ($($name:literal $arguments:literal $does:literal => $run:path;)*) => {
        &[$(Ability {
            name: $name,
            arguments: $arguments,
            does: $does,
            run: |turn, rest| Box::pin($run(turn, rest)),
        },)*]
    };
}

/// Everything the agent can do.
pub(crate) const ABILITIES: &[Ability] = abilities! {
    "help" "" "lists all of this" => text::help;
    "echo" "TEXT" "says TEXT" => text::echo;
    "stream" "N [BYTES]" "streams N chunks of BYTES each (32 unless told)" => text::stream;
    "big" "BYTES" "says one chunk of BYTES" => text::big;
    "markdown" "" "says headings, lists, code, a table and a link" => text::markdown;
    "think" "" "thinks aloud, then answers" => text::think;
    "plan" "" "makes a plan and works through it" => work::plan;
    "tool" "" "calls a tool that reads a file" => work::tool;
    "diff" "" "calls a tool that edits a file, with a diff" => work::diff;
    "permission" "" "asks for a permission and says how it was answered" => permission::one;
    "permissions" "N" "asks for N permissions at once" => permission::many;
    "question" "" "asks a question (`_sandboxagent/session/request_question`)" => question::one;
    "questions" "N" "asks N questions at once" => question::many;
    "elicit" "" "asks to fill in a form (`elicitation/create`)" => question::elicit;
    "read" "PATH" "reads a file through the client" => client_files::read;
    "write" "PATH TEXT" "writes a file through the client" => client_files::write;
    "terminal" "COMMAND..." "runs a command in a terminal of the client" => terminal::terminal;
    "slow" "[SECONDS]" "says something every 100 ms for SECONDS (5 unless told)" => timing::slow;
    "forever" "" "says something every 100 ms until cancelled" => timing::forever;
    "image" "" "answers with an image" => content::image;
    "audio" "" "answers with a sound" => content::audio;
    "resource" "" "answers with an embedded resource and a link" => content::resource;
    "usage" "" "sends a usage update with a cost" => session_news::usage;
    "title" "TEXT" "renames the session" => session_news::title;
    "commands" "" "announces the slash commands again" => session_news::commands;
    "mode" "ID" "changes the mode from the agent's side" => session_news::mode;
    "ended" "" "sends `_sandboxagent/session/ended`" => session_news::ended;
    "unparsed" "" "sends `_sandboxagent/agent/unparsed`" => session_news::unparsed;
    "meta" "" "says which `_meta` and which attachments it got" => report::meta;
    "mcp" "" "lists the MCP servers it was given" => report::mcp;
    "env" "NAME" "says the value of an environment variable" => report::env;
    "cwd" "" "says the session's and the process's directory" => report::cwd;
    "refuse" "" "stops with `refusal`" => faults::refuse;
    "max" "" "stops with `max_tokens`" => faults::max;
    "error" "" "answers the prompt with a JSON-RPC error" => faults::error;
    "noise" "" "prints what is not JSON-RPC around its answer" => faults::noise;
    "stderr" "N" "writes N bytes to stderr" => faults::stderr;
    "exit" "CODE" "answers, then exits with CODE" => faults::exit;
    "crash" "[CODE]" "exits with CODE (1 unless told) in the middle of the turn" => faults::crash;
};

impl Ability {
    /// The name with what may follow it.
    fn usage(&self) -> String {
        format!("{} {}", self.name, self.arguments).trim_end().to_owned()
    }
}

/// Answers a prompt.
pub(crate) async fn answer(turn: &Turn, text: &str) -> Outcome {
    let (word, rest) = first_word(text);
    match ABILITIES.iter().find(|ability| ability.name.eq_ignore_ascii_case(word)) {
        Some(ability) => (ability.run)(turn, rest).await,
        None => text::quote(turn, text).await,
    }
}

/// The first word without its slash, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word.strip_prefix('/').unwrap_or(word), rest)
}

/// The slash commands, as an update.
pub(crate) fn available_commands() -> SessionUpdate {
    let commands = ABILITIES.iter().map(|ability| {
        let command = AvailableCommand::new(ability.name, ability.does);
        if ability.arguments.is_empty() {
            return command;
        }
        let input = UnstructuredCommandInput::new(ability.arguments);
        command.input(AvailableCommandInput::Unstructured(input))
    });
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands.collect()))
}

/// Reads the `index`th word of an argument as a number no greater than `limit`.
fn number(rest: &str, index: usize, limit: u64) -> Result<Option<u64>, Stop> {
    let Some(word) = rest.split_whitespace().nth(index) else { return Ok(None) };
    match word.parse() {
        Ok(number) if number <= limit => Ok(Some(number)),
        _ => {
            Err(Stop::Say(format!("{word} is not a whole number from 0 to {limit}. Say help for the usage.")))
        }
    }
}

/// As [`number`], where it must be given.
fn required_number(rest: &str, index: usize, limit: u64) -> Result<u64, Stop> {
    number(rest, index, limit)?
        .ok_or_else(|| Stop::Say("A number is missing. Say help for the usage.".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_loses_its_slash_and_the_rest_stays_as_it_is() {
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
    fn no_two_abilities_share_a_name() {
        for (index, ability) in ABILITIES.iter().enumerate() {
            assert!(ABILITIES[..index].iter().all(|other| other.name != ability.name), "{}", ability.name);
        }
    }

    #[test]
    fn the_readme_lists_every_ability_with_its_arguments() {
        let readme = include_str!("../../README.md");
        for ability in ABILITIES {
            let row = format!("| `{}` | {} |", ability.usage(), ability.does);
            assert!(readme.contains(&row), "README.md lacks: {row}");
        }
    }
}

//! Turns a conversation into the model's next turn. Deterministic and without I/O.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use crate::conversation::{Conversation, Newest, Tool, ToolKind};
use crate::schema::{self, Hints, NoHints};
use crate::script::{HELP, Script};
use crate::title::{self, Title};
use crate::tools::{Call, Input, Job};

/// The pause between two words of a slow answer.
const SLOW_PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of quoted characters of a tool's result.
const MAX_QUOTE: usize = 4000;

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Turn(Turn),
    Failure(Failure),
}

/// The model's output in one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Turn {
    pub(crate) thoughts: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) call: Option<Call>,
    /// The pause before each word except the first.
    pub(crate) pause: Duration,
    pub(crate) ending: Ending,
}

/// How a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ending {
    #[default]
    Complete,
    /// The connection breaks before the end is sent.
    CutOff,
}

/// An HTTP error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) retry: Retry,
}

/// Whether the client should retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    Allowed,
    Pointless,
}

impl Turn {
    fn saying(text: &str) -> Self {
        Self { words: words(text), ..Self::default() }
    }

    fn calling(call: Call) -> Self {
        Self { call: Some(call), ..Self::default() }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> String {
        self.words.concat()
    }

    /// The whole reasoning text.
    pub(crate) fn thinking(&self) -> String {
        self.thoughts.concat()
    }

    /// A rough token count.
    pub(crate) fn output_tokens(&self) -> usize {
        self.words.len() + self.thoughts.len() + usize::from(self.call.is_some()) * 10
    }
}

/// The answer to a conversation; `attempt` counts identical requests, from 1.
pub(crate) fn answer(conversation: &Conversation, script: &Script, attempt: u32) -> Answer {
    if let Some(title) = title::wanted(conversation) {
        return Answer::Turn(titled_turn(conversation, &title));
    }
    if let Newest::Results(results) = conversation.newest() {
        return Answer::Turn(Turn::saying(&quote(&results)));
    }
    // Agents also send requests that force a tool or a schema. Answer these first: they quote the user's prompt, but
    // the script in it is not meant for them.
    if let Some(turn) = forced_turn(conversation, &NoHints) {
        return Answer::Turn(turn);
    }
    let attempt = within_round(script, attempt);
    match script {
        Script::Fail { status, times } if times.is_none_or(|times| attempt <= times) => {
            let retry = if times.is_some() { Retry::Allowed } else { Retry::Pointless };
            let message = format!("The prompt asked for a failure with {} (try {attempt}).", status.as_u16());
            Answer::Failure(Failure { status: *status, message, retry })
        }
        _ => Answer::Turn(perform(script, &conversation.tools, attempt)),
    }
}

/// The number of the attempt in the current round. After a script has failed as often as it says and then
/// succeeded, a new round starts: the same prompt may come from another session whose requests are identical.
fn within_round(script: &Script, attempt: u32) -> u32 {
    match script {
        Script::Fail { times: Some(times), .. } | Script::Cut { times: Some(times) } => {
            (attempt - 1) % times.saturating_add(1) + 1
        }
        _ => attempt,
    }
}

/// The turn that answers a request for a title: in the tool or the JSON that the request forces, or else as
/// text.
fn titled_turn(conversation: &Conversation, title: &Title) -> Turn {
    forced_turn(conversation, title).unwrap_or_else(|| Turn::saying(title.as_str()))
}

/// The turn for a request that forces a tool or a JSON schema.
fn forced_turn(conversation: &Conversation, hints: &dyn Hints) -> Option<Turn> {
    let forced = conversation.forced_tool.as_ref();
    if let Some(tool) = forced.and_then(|name| conversation.tools.iter().find(|tool| tool.name == *name)) {
        let arguments = schema::fill(&tool.parameters, hints);
        return Some(Turn::calling(Call::new(tool, Input::Arguments(arguments))));
    }
    let wanted = conversation.wanted_schema.as_ref()?;
    Some(Turn { words: vec![schema::fill(wanted, hints).to_string()], ..Turn::default() })
}

fn perform(script: &Script, tools: &[Tool], attempt: u32) -> Turn {
    match script {
        Script::Say(text) => Turn::saying(text),
        Script::Shell(command) => work(&Job::Shell(command.clone()), tools),
        Script::Write { path, text } => work(&Job::Write { path: path.clone(), text: text.clone() }, tools),
        Script::Read(path) => work(&Job::Read(path.clone()), tools),
        Script::Ask(question) => work(&Job::Ask(question.clone()), tools),
        Script::Call { tool, arguments } => call(tool, arguments, tools),
        Script::Think(text) => Turn { thoughts: words(text), ..Turn::saying("I have thought about it.") },
        Script::Slow(length) => {
            let count = length.as_millis() / SLOW_PAUSE.as_millis();
            let words = (1..=count).map(|number| format!("word{number} ")).collect();
            Turn { words, pause: SLOW_PAUSE, ..Turn::default() }
        }
        Script::Long(count) => {
            Turn { words: (1..=*count).map(|number| format!("word{number} ")).collect(), ..Turn::default() }
        }
        Script::Cut { times } if times.is_none_or(|times| attempt <= times) => {
            let turn = Turn::saying("This answer breaks off before it");
            Turn { ending: Ending::CutOff, ..turn }
        }
        Script::Fail { .. } | Script::Cut { .. } => Turn::saying(&format!("Recovered at try {attempt}.")),
        Script::Help => Turn::saying(HELP),
        Script::Echo(prompt) if prompt.is_empty() => {
            Turn::saying("There is no prompt. Say help for what can be said.")
        }
        Script::Echo(prompt) => Turn::saying(&format!("You said: {}", shortened(prompt))),
    }
}

/// Calls the agent's tool for the job, or else its shell. If there is neither, the text says what is missing.
fn work(job: &Job, tools: &[Tool]) -> Turn {
    let through_shell = || job.through_shell()?.call(tools);
    match job.call(tools).or_else(through_shell) {
        Some(call) => Turn::calling(call),
        None => Turn::saying(&missing(job, tools)),
    }
}

fn missing(job: &Job, tools: &[Tool]) -> String {
    let wanted = match job {
        Job::Shell(_) => "run commands",
        Job::Write { .. } => "write files",
        Job::Read(_) => "read files",
        Job::Ask(_) => "ask the user",
    };
    format!("I was offered no tool to {wanted}. {}", offered(tools))
}

fn offered(tools: &[Tool]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    if names.is_empty() {
        "There are no tools.".to_owned()
    } else {
        format!("There are: {}.", names.join(", "))
    }
}

fn call(name: &str, arguments: &str, tools: &[Tool]) -> Turn {
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        return Turn::saying(&format!("I was offered no tool `{name}`. {}", offered(tools)));
    };
    if tool.kind == ToolKind::Custom {
        return Turn::calling(Call::new(tool, Input::Text(arguments.to_owned())));
    }
    match serde_json::from_str::<Value>(arguments) {
        Ok(arguments) if arguments.is_object() => Turn::calling(Call::new(tool, Input::Arguments(arguments))),
        _ => Turn::saying(&format!("The arguments of `{name}` must be a JSON object on the same line.")),
    }
}

fn quote(results: &[String]) -> String {
    let results: Vec<&str> = results.iter().map(|result| result.trim_end()).collect();
    format!("The tool answered:\n{}", shortened(&results.join("\n")))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Splits text into chunks that end after white space, as models stream them.
fn words(text: &str) -> Vec<String> {
    text.split_inclusive(char::is_whitespace).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_words_are_the_text() {
        let text = "one  two\nthree";
        assert_eq!(words(text).concat(), text);
        assert_eq!(words(text).len(), 4);
    }

    #[test]
    fn slow_words_fill_the_requested_time() {
        let turn = perform(&Script::Slow(Duration::from_secs(2)), &[], 1);
        assert_eq!(turn.words.len(), 20);
        assert_eq!(turn.pause, SLOW_PAUSE);
    }

    #[test]
    fn a_missing_tool_is_reported_with_the_available_ones() {
        let other = Tool {
            name: "other".to_owned(),
            namespace: None,
            parameters: Value::Null,
            kind: ToolKind::Function,
        };
        let turn = perform(&Script::Shell("ls".to_owned()), &[other], 1);
        assert_eq!(turn.text(), "I was offered no tool to run commands. There are: other.");
    }

    #[test]
    fn a_long_result_is_truncated() {
        let quoted = quote(&["x".repeat(MAX_QUOTE * 2)]);
        assert!(quoted.len() < MAX_QUOTE + 100);
        assert!(quoted.ends_with(" ..."));
    }
}

//! The conversation so far, independent of the wire format, and which part of it is the newest prompt.

use serde_json::Value;

use crate::script::{self, Script};

/// One request to the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conversation {
    /// The requested model; echoed in the answer.
    pub(crate) model: String,
    /// The agent's instructions to the model. They are not a prompt, but show what kind of answer is wanted.
    pub(crate) instructions: String,
    /// The messages, oldest first.
    pub(crate) entries: Vec<Entry>,
    /// The tools that the agent offers.
    pub(crate) tools: Vec<Tool>,
    /// A tool that the client forces, whatever the prompt says.
    pub(crate) forced_tool: Option<String>,
    /// The schema of the JSON text that the client requests instead of prose.
    pub(crate) wanted_schema: Option<Value>,
    /// Whether the answer is a stream of events.
    pub(crate) delivery: Delivery,
    /// Whether a streamed answer includes token counts (Chat Completions sends them only on request).
    pub(crate) usage: Usage,
}

/// How the answer is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    Streamed,
}

impl Delivery {
    /// Reads the `stream` field that three of the formats share.
    pub(crate) fn of(body: &Value) -> Self {
        if body["stream"].as_bool() == Some(true) { Self::Streamed } else { Self::Whole }
    }
}

/// Whether token counts are sent in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    Included,
    Omitted,
}

/// A message of the user, a tool or the model. The model's own text does not matter and is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A message from the user, or from the agent in the user's name.
    User(String),
    /// Text in the same message as a tool's result. It counts as a prompt only if it contains a script.
    TextWithResult(String),
    /// A tool's result.
    Result(String),
    /// The model's own turn.
    Model,
}

/// A tool that the agent offers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The tool's group, in formats that have groups; it is sent back with the call.
    pub(crate) namespace: Option<String>,
    /// The JSON schema of the arguments; null if the tool takes free text.
    pub(crate) parameters: Value,
    pub(crate) kind: ToolKind,
}

/// How a tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolKind {
    /// The tool takes a JSON object.
    Function,
    /// The tool takes free text.
    Custom,
}

/// What the model reacts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Newest {
    /// A new prompt.
    Prompt(String),
    /// The results of the tools called since the newest prompt, oldest first.
    Results(Vec<String>),
}

impl Conversation {
    /// The number of user messages, including those that the agent sent in the user's name.
    pub(crate) fn user_messages(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry, Entry::User(_))).count()
    }

    pub(crate) fn newest(&self) -> Newest {
        let mut results = Vec::new();
        for entry in self.entries.iter().rev() {
            let prompt = match entry {
                Entry::Result(text) => {
                    results.push(text.clone());
                    continue;
                }
                Entry::Model => continue,
                Entry::User(text) => script::user_text(text),
                Entry::TextWithResult(text) => {
                    let words = script::user_text(text);
                    if matches!(Script::of(&words), Script::Echo(_)) {
                        continue;
                    }
                    words
                }
            };
            if prompt.is_empty() {
                continue;
            }
            if results.is_empty() {
                return Newest::Prompt(prompt);
            }
            break;
        }
        if results.is_empty() {
            return Newest::Prompt(String::new());
        }
        results.reverse();
        Newest::Results(results)
    }

    /// A rough token count; agents only need a number that grows.
    pub(crate) fn input_tokens(&self) -> usize {
        let text: usize = self
            .entries
            .iter()
            .map(|entry| match entry {
                Entry::User(text) | Entry::TextWithResult(text) | Entry::Result(text) => text.len(),
                Entry::Model => 0,
            })
            .sum();
        text / 4 + 1
    }
}

/// The text of a `content` field that is a string or a list of parts with a `text` each.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(entries: &[Entry]) -> Newest {
        let conversation = Conversation {
            model: String::new(),
            instructions: String::new(),
            entries: entries.to_vec(),
            tools: Vec::new(),
            forced_tool: None,
            wanted_schema: None,
            delivery: Delivery::Whole,
            usage: Usage::Included,
        };
        conversation.newest()
    }

    fn user(text: &str) -> Entry {
        Entry::User(text.to_owned())
    }

    fn result(text: &str) -> Entry {
        Entry::Result(text.to_owned())
    }

    #[test]
    fn the_last_prompt_is_the_newest() {
        let entries = [user("shell ls"), result("a"), Entry::Model, user("say hello")];
        assert_eq!(newest(&entries), Newest::Prompt("say hello".to_owned()));
    }

    #[test]
    fn results_since_the_last_prompt_are_returned_in_order() {
        let entries = [user("shell ls"), Entry::Model, result("a"), result("b")];
        assert_eq!(newest(&entries), Newest::Results(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn a_reminder_after_a_result_is_not_a_prompt() {
        let reminder = user("<system-reminder>\nsay nothing\n</system-reminder>");
        let remark = Entry::TextWithResult("Some remark of the agent".to_owned());
        let entries = [user("shell ls"), Entry::Model, result("a"), remark, reminder];
        assert_eq!(newest(&entries), Newest::Results(vec!["a".to_owned()]));
    }

    #[test]
    fn a_script_beside_a_result_is_a_new_prompt() {
        let next = Entry::TextWithResult("say two".to_owned());
        let entries = [user("shell ls"), Entry::Model, result("cancelled"), next];
        assert_eq!(newest(&entries), Newest::Prompt("say two".to_owned()));
    }
}

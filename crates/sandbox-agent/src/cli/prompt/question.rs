//! One agent request that waits for the user: a permission, a question or a form.

use serde_json::{Value, json};

use super::choice::{self, Choice};
use super::diff;
use super::form::{self, Form, Step};
use super::permission::{self, Allow};
use crate::cli::style::{Colour, one_line, without_control};

/// The methods of requests that a user answers.
pub(super) const PERMISSION: &str = "session/request_permission";
pub(super) const QUESTION: &str = "_sandboxagent/session/request_question";
pub(super) const FORM: &str = "elicitation/create";

/// How many lines of one text are shown with a permission request.
const MAX_LINES: usize = 40;

/// A request that waits for the user.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    content: Content,
}

/// The subject of a question.
#[derive(Debug)]
enum Content {
    /// A permission request, with all that is known about the tool call.
    Permission {
        call: Value,
    },
    Question,
    Form(Form),
}

impl Question {
    /// A permission request; `call` is the tool call with what the agent reported about it earlier.
    pub(super) fn permission(id: &Value, params: &Value, call: Value) -> Self {
        Self::new(id, PERMISSION, params, Content::Permission { call })
    }

    /// A question in Sandbox Agent's own method.
    pub(super) fn own_method(id: &Value, params: &Value) -> Self {
        Self::new(id, QUESTION, params, Content::Question)
    }

    /// A form.
    pub(super) fn form(id: &Value, params: &Value, form: Form) -> Self {
        Self::new(id, FORM, params, Content::Form(form))
    }

    fn new(id: &Value, method: &str, params: &Value, content: Content) -> Self {
        Self { id: id.clone(), method: method.to_owned(), params: params.clone(), content }
    }

    /// The text to show on the terminal.
    pub(super) fn text(&self, colour: Colour) -> String {
        match &self.content {
            Content::Permission { call } => {
                let title = one_line(call["title"].as_str().unwrap_or("a tool call"), 160);
                let details: String =
                    details(call, colour).into_iter().map(|line| format!("\n  {line}")).collect();
                let options = permission::options(&self.params);
                let options = options.iter().enumerate();
                let options: String = options
                    .map(|(index, option)| format!("\n  {}) {}", index + 1, one_line(&option.name, 160)))
                    .collect();
                format!("\nAllow: {title}{details}{options}\nnumber, y or n> ")
            }
            Content::Question => {
                let prompt = without_control(self.params["prompt"].as_str().unwrap_or("The agent asks"));
                let choices = self.choices();
                let expected = match (choices.is_empty(), self.is_multiple()) {
                    (true, _) => "text",
                    (false, false) => "number",
                    (false, true) => "numbers, separated by commas",
                };
                format!("\n{prompt}{}\n{expected}; empty rejects it> ", choice::text(&choices))
            }
            Content::Form(form) => form.text(),
        }
    }

    /// Takes a line from the user and returns the next step. The end of input (Ctrl-D) rejects the request.
    pub(super) fn answer(&mut self, line: Option<&str>, colour: Colour) -> Step {
        let answer = match &mut self.content {
            Content::Form(form) => return form.answer(line),
            Content::Permission { .. } => {
                let options = permission::options(&self.params);
                match line {
                    None => Some(permission::outcome(permission::choose(Allow::Reject, &options))),
                    Some(line) => permission::parse_choice(line, &options)
                        .map(|option| permission::outcome(Some(option))),
                }
            }
            Content::Question => match line.map(str::trim).filter(|line| !line.is_empty()) {
                None => Some(rejected()),
                Some(line) => self.chosen(line).map(|ids| json!({"status": "answered", "answers": [ids]})),
            },
        };
        answer.map_or_else(|| Step::Ask(self.text(colour)), Step::Answer)
    }

    /// The answer if the user is not asked.
    pub(super) fn refusal(&self) -> Value {
        match &self.content {
            Content::Permission { .. } => permission::outcome(None),
            Content::Question => rejected(),
            Content::Form(_) => form::dismissed(),
        }
    }

    fn choices(&self) -> Vec<Choice> {
        choice::read(&self.params["options"], &Value::Null)
    }

    fn is_multiple(&self) -> bool {
        self.params["multiple"] == true
    }

    /// The ids of the chosen options, or the line itself if there are no options; `None` if it is invalid.
    fn chosen(&self, line: &str) -> Option<Vec<String>> {
        let choices = self.choices();
        match (choices.is_empty(), self.is_multiple()) {
            (true, _) => Some(vec![line.to_owned()]),
            (false, false) => choice::find(&choices, line).map(|choice| vec![choice.id.clone()]),
            (false, true) => choice::find_all(&choices, line),
        }
    }
}

/// The answer to a question that no user answered.
pub(super) fn rejected() -> Value {
    json!({"status": "rejected"})
}

/// Describes what a tool call would do: the changes of files as diffs, or else its input, and the text that comes
/// with it.
fn details(call: &Value, colour: Colour) -> Vec<String> {
    let content = || call["content"].as_array().into_iter().flatten();
    let mut lines: Vec<String> = content().filter_map(|part| diff::lines(part, colour)).flatten().collect();
    if lines.is_empty() {
        lines.extend(input(&call["rawInput"]));
    }
    for text in content().filter_map(|part| part["content"]["text"].as_str()) {
        lines.extend(text_lines(text));
    }
    lines
}

/// The input of a tool, with one line per field.
fn input(raw: &Value) -> Vec<String> {
    match raw {
        Value::Null => Vec::new(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                let name = one_line(name, 80);
                match value {
                    Value::String(text) if text.trim_end().contains('\n') => {
                        let indented = text_lines(text).into_iter().map(|line| format!("  {line}"));
                        std::iter::once(format!("{name}:")).chain(indented).collect()
                    }
                    Value::String(text) => vec![format!("{name}: {}", without_control(text).trim_end())],
                    other => vec![format!("{name}: {}", one_line(&other.to_string(), 400))],
                }
            })
            .collect(),
        Value::String(text) => text_lines(text),
        other => vec![one_line(&other.to_string(), 400)],
    }
}

fn text_lines(text: &str) -> Vec<String> {
    let text = without_control(text);
    let left_out = text.lines().count().saturating_sub(MAX_LINES);
    let shown = text.lines().take(MAX_LINES).map(str::to_owned);
    let note = (left_out > 0).then(|| format!("... {left_out} more lines are not shown"));
    shown.chain(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(params: &Value) -> Question {
        Question::own_method(&json!(1), params)
    }

    #[test]
    fn a_question_accepts_a_number_an_id_or_a_label_and_an_empty_line_rejects_it() {
        let mut asked = question(&json!({"prompt": "Which?", "options": [["a", "Option A"], "b"]}));
        let mut chosen = |line: Option<&str>| asked.answer(line, Colour::Off);
        let answered = |ids: &[&str]| Step::Answer(json!({"status": "answered", "answers": [ids]}));
        assert_eq!(chosen(Some("1")), answered(&["a"]));
        assert_eq!(chosen(Some("b")), answered(&["b"]));
        assert_eq!(chosen(Some("option a ")), answered(&["a"]));
        let again = "\nWhich?\n  1) Option A\n  2) b\nnumber; empty rejects it> ";
        assert_eq!(
            (chosen(Some("3")), chosen(Some("0"))),
            (Step::Ask(again.into()), Step::Ask(again.into()))
        );
        assert_eq!((chosen(Some(" ")), chosen(None)), (Step::Answer(rejected()), Step::Answer(rejected())));
        let free = question(&json!({"options": []})).answer(Some("free words"), Colour::Off);
        assert_eq!(free, answered(&["free words"]));
        let options = json!([{"id": "x", "label": "X"}, {"id": "y", "name": "Y"}]);
        let mut several = question(&json!({"options": options, "multiple": true}));
        assert_eq!(several.answer(Some("2, x"), Colour::Off), answered(&["y", "x"]));
    }

    #[test]
    fn a_permission_shows_the_input_of_the_tool_line_by_line() {
        let raw = json!({"command": "rm -r \x1bbuild", "script": "one\ntwo\n", "timeout": 5});
        let call = json!({"title": "Run", "rawInput": raw});
        let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
        let asked = Question::permission(&json!(1), &json!({"options": options}), call);
        let text = "\nAllow: Run\n  command: rm -r build\n  script:\n    one\n    two\n  timeout: 5\n  1) Yes\n\
                    number, y or n> ";
        assert_eq!(asked.text(Colour::Off), text);
    }

    #[test]
    fn a_permission_shows_a_diff_instead_of_the_input() {
        let diff = json!({"type": "diff", "path": "/f", "oldText": "a\n", "newText": "b\n"});
        let note = json!({"type": "content", "content": {"type": "text", "text": "because"}});
        let call = json!({"title": "Edit", "rawInput": {"secret": 1}, "content": [diff, note]});
        let asked = Question::permission(&json!(1), &json!({}), call);
        let text = "\nAllow: Edit\n  /f\n  @@ -1 +1 @@\n  -a\n  +b\n  because\nnumber, y or n> ";
        assert_eq!(asked.text(Colour::Off), text);
    }
}

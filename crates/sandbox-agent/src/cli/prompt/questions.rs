//! What the agent asks: decided beforehand, or asked on the terminal one after the other.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::permission::{self, Allow, PermissionOption};
use super::terminal::Terminal;
use crate::cli::error::CliError;
use crate::cli::style::{harmless, one_line};

const PERMISSION: &str = "session/request_permission";
const QUESTION: &str = "_sandboxagent/session/request_question";

/// The open questions of an agent.
#[derive(Debug)]
pub(super) struct Questions {
    allow: Allow,
    /// Said once where everything is rejected though nobody said so.
    excuse: Option<&'static str>,
    terminal: Option<Terminal>,
    open: VecDeque<Question>,
}

/// A question that waits for the user.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
}

/// What becomes of a request of the agent.
#[derive(Debug, PartialEq)]
pub(super) enum Reaction {
    /// It is answered so.
    Answer(Value),
    /// The user is asked.
    Wait,
    /// This client has no such method.
    Unknown,
}

impl Questions {
    /// Without a decision, the terminal is asked where there is one, and where there is none everything is rejected.
    pub(super) fn new(allow: Option<Allow>) -> Result<Self, CliError> {
        let terminal = match allow {
            None | Some(Allow::Ask) => Terminal::open(),
            Some(_) => None,
        };
        if allow == Some(Allow::Ask) && terminal.is_none() {
            return Err(CliError::Usage(
                "there is no terminal to ask on; decide with --allow once, --allow always or --allow reject"
                    .to_owned(),
            ));
        }
        let (decided, excuse) = match (allow, &terminal) {
            (Some(allow), _) => (allow, None),
            (None, Some(_)) => (Allow::Ask, None),
            (None, None) => {
                (Allow::Reject, Some("rejected, since there is no terminal to ask on; see --allow"))
            }
        };
        Ok(Self { allow: decided, excuse, terminal, open: VecDeque::new() })
    }

    /// Why a question was rejected without being asked; said once.
    pub(super) fn excuse(&mut self) -> Option<&'static str> {
        self.excuse.take()
    }

    /// Takes a request of the agent.
    pub(super) fn receive(&mut self, id: &Value, method: &str, params: &Value) -> Reaction {
        let asks = self.allow == Allow::Ask;
        match method {
            PERMISSION | QUESTION if asks => {
                self.open.push_back(Question {
                    id: id.clone(),
                    method: method.into(),
                    params: params.clone(),
                });
                Reaction::Wait
            }
            PERMISSION => {
                let options = permission::options(params);
                Reaction::Answer(permission::outcome(permission::choose(self.allow, &options)))
            }
            // Nobody is there to answer it; a permission policy says nothing about it.
            QUESTION => Reaction::Answer(rejected()),
            _ => Reaction::Unknown,
        }
    }

    /// Whether the terminal has a question to answer.
    pub(super) fn is_asking(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many questions are open.
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    /// Shows the question whose turn it is.
    pub(super) fn show(&mut self) {
        if let (Some(question), Some(terminal)) = (self.open.front(), &mut self.terminal) {
            terminal.show(&question.text());
        }
    }

    /// Waits for a line that answers the question whose turn it is; none when it was not understood.
    pub(super) async fn answer(&mut self) -> Option<(Question, Value)> {
        let line = match &mut self.terminal {
            Some(terminal) => terminal.line().await,
            None => None,
        };
        let answer = self.open.front()?.answer(line.as_deref());
        match answer {
            Some(answer) => Some((self.open.pop_front()?, answer)),
            None => {
                if let (Some(question), Some(terminal)) = (self.open.front(), &mut self.terminal) {
                    terminal.show_again(&question.text());
                }
                None
            }
        }
    }

    /// Takes a question back that somebody else answered or the agent gave up. True if it was the one on the terminal.
    pub(super) fn withdraw(&mut self, id: &Value) -> bool {
        let was_shown = self.open.front().is_some_and(|question| question.id == *id);
        self.open.retain(|question| question.id != *id);
        was_shown
    }

    /// Takes all questions back, each with the answer that says so.
    pub(super) fn give_up(&mut self) -> Vec<(Question, Value)> {
        let given_up = |question: Question| {
            let answer = if question.method == QUESTION { rejected() } else { permission::outcome(None) };
            (question, answer)
        };
        self.open.drain(..).map(given_up).collect()
    }
}

impl Question {
    fn text(&self) -> String {
        let mut text = String::from("\n");
        let lines: Vec<String> = if self.method == PERMISSION {
            let call = &self.params["toolCall"];
            text += &format!("Allow: {}", one_line(call["title"].as_str().unwrap_or("a tool call"), 160));
            if !call["rawInput"].is_null() {
                text += &format!("\n  {}", one_line(&call["rawInput"].to_string(), 400));
            }
            permission::options(&self.params).into_iter().map(|option| option.name).collect()
        } else {
            text += &harmless(self.params["prompt"].as_str().unwrap_or("The agent asks"));
            choices(&self.params).into_iter().map(|(_, label)| label).collect()
        };
        for (index, line) in lines.iter().enumerate() {
            text += &format!("\n  {}) {}", index + 1, one_line(line, 160));
        }
        let more = if self.method == PERMISSION { ", y or n" } else { "; nothing rejects it" };
        format!("{text}\nnumber{more}> ")
    }

    /// The answer that a line means. No line at all, as after Ctrl-D, allows nothing.
    fn answer(&self, line: Option<&str>) -> Option<Value> {
        if self.method == PERMISSION {
            let options = permission::options(&self.params);
            return match line {
                None => Some(permission::outcome(permission::choose(Allow::Reject, &options))),
                Some(line) => {
                    let option: Option<&PermissionOption> = permission::understand(line, &options);
                    option.map(|option| permission::outcome(Some(option)))
                }
            };
        }
        let Some(line) = line.map(str::trim).filter(|line| !line.is_empty()) else { return Some(rejected()) };
        let choices = choices(&self.params);
        if choices.is_empty() {
            return Some(json!({"status": "answered", "answers": [[line]]}));
        }
        let by_number = line.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
        let named = |(id, label): &&(String, String)| id == line || label.eq_ignore_ascii_case(line);
        let (id, _) = by_number.or_else(|| choices.iter().find(named))?;
        Some(json!({"status": "answered", "answers": [[id]]}))
    }
}

fn rejected() -> Value {
    json!({"status": "rejected"})
}

/// The options of a question: pairs of id and label, or plain words.
fn choices(params: &Value) -> Vec<(String, String)> {
    let listed = params["options"].as_array().into_iter().flatten();
    listed
        .filter_map(|option| match option {
            Value::String(word) => Some((word.clone(), word.clone())),
            pair => {
                let id = pair[0].as_str()?;
                Some((id.to_owned(), pair[1].as_str().unwrap_or(id).to_owned()))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(options: &Value) -> Question {
        Question {
            id: json!(1),
            method: QUESTION.into(),
            params: json!({"prompt": "Which?", "options": options}),
        }
    }

    #[test]
    fn a_question_takes_a_number_an_id_or_a_label_and_nothing_rejects_it() {
        let asked = question(&json!([["a", "Option A"], "b"]));
        let chosen = |line: &str| asked.answer(Some(line));
        let answered = |id: &str| Some(json!({"status": "answered", "answers": [[id]]}));
        assert_eq!(
            (chosen("1"), chosen("b"), chosen("option a ")),
            (answered("a"), answered("b"), answered("a"))
        );
        assert_eq!((chosen("3"), chosen("0")), (None, None));
        assert_eq!((chosen(" "), asked.answer(None)), (Some(rejected()), Some(rejected())));
        assert_eq!(question(&json!([])).answer(Some("free words")), answered("free words"));
        assert_eq!(asked.text(), "\nWhich?\n  1) Option A\n  2) b\nnumber; nothing rejects it> ");
    }

    #[test]
    fn what_was_decided_beforehand_is_answered_at_once() {
        let params = json!({"options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]});
        let mut questions = Questions::new(Some(Allow::Once)).unwrap();
        let allowed = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
        assert_eq!(questions.receive(&json!(0), PERMISSION, &params), Reaction::Answer(allowed));
        assert_eq!(questions.receive(&json!(1), QUESTION, &json!({})), Reaction::Answer(rejected()));
        assert_eq!(questions.receive(&json!(2), "fs/read_text_file", &json!({})), Reaction::Unknown);
        assert!(!questions.is_asking());
    }
}

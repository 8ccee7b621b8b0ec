//! Permission requests and questions of the agent: answered by a policy, or asked on the terminal one after the other.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::permission::{self, Allow, PermissionOption};
use super::terminal::Terminal;
use crate::cli::error::CliError;
use crate::cli::style::{one_line, without_control};

const PERMISSION: &str = "session/request_permission";
const QUESTION: &str = "_sandboxagent/session/request_question";

/// The open questions of an agent.
#[derive(Debug)]
pub(super) struct Questions {
    allow: Allow,
    /// Why requests are rejected without being shown, if the user did not ask for that. Reported once.
    rejection_reason: Option<&'static str>,
    terminal: Option<Terminal>,
    open: VecDeque<Question>,
    /// True when permissions are rejected only because there is no terminal.
    rejects_unasked: bool,
    has_rejected: bool,
}

/// A question that waits for the user.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
}

/// How to react to a request of the agent.
#[derive(Debug, PartialEq)]
pub(super) enum Reaction {
    /// Send this answer.
    Answer(Value),
    /// Ask the user.
    AskUser,
    /// Answer that this client does not have the method.
    UnknownMethod,
}

impl Questions {
    /// Without a policy the user is asked on the terminal. If there is no terminal, everything is rejected.
    pub(super) fn new(allow: Option<Allow>) -> Result<Self, CliError> {
        let terminal = match allow {
            None | Some(Allow::Ask) => Terminal::open(),
            Some(_) => None,
        };
        if allow == Some(Allow::Ask) && terminal.is_none() {
            return Err(CliError::Usage(
                "there is no terminal to ask on; use --allow once, --allow always or --allow reject"
                    .to_owned(),
            ));
        }
        let (allow, rejection_reason) = match (allow, &terminal) {
            (Some(allow), _) => (allow, None),
            (None, Some(_)) => (Allow::Ask, None),
            (None, None) => {
                (Allow::Reject, Some("rejected, because there is no terminal to ask on; see --allow"))
            }
        };
        let rejects_unasked = rejection_reason.is_some();
        let open = VecDeque::new();
        Ok(Self { allow, rejection_reason, terminal, open, rejects_unasked, has_rejected: false })
    }

    /// True when a permission was rejected only because there is no terminal.
    pub(super) fn has_rejected(&self) -> bool {
        self.has_rejected
    }

    /// Why a request was rejected without being shown; only on the first call.
    pub(super) fn rejection_reason(&mut self) -> Option<&'static str> {
        self.rejection_reason.take()
    }

    /// Receives a request of the agent.
    pub(super) fn receive(&mut self, id: &Value, method: &str, params: &Value) -> Reaction {
        let asks = self.allow == Allow::Ask;
        match method {
            PERMISSION | QUESTION if asks => {
                self.open.push_back(Question {
                    id: id.clone(),
                    method: method.into(),
                    params: params.clone(),
                });
                Reaction::AskUser
            }
            PERMISSION => {
                self.has_rejected |= self.rejects_unasked;
                let options = permission::options(params);
                Reaction::Answer(permission::outcome(permission::choose(self.allow, &options)))
            }
            // A permission policy does not answer questions, and without a terminal there is no user to ask.
            QUESTION => Reaction::Answer(rejected()),
            _ => Reaction::UnknownMethod,
        }
    }

    /// True when a question is waiting for the user.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many questions are open.
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    /// Shows the first open question.
    pub(super) fn show(&mut self) {
        if let (Some(question), Some(terminal)) = (self.open.front(), &mut self.terminal) {
            terminal.show(&question.text());
        }
    }

    /// Waits for a line that answers the first open question; `None` if the line is not a valid answer.
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

    /// Removes a question that another client answered or the agent withdrew. True if it was shown on the terminal.
    pub(super) fn withdraw(&mut self, id: &Value) -> bool {
        let was_shown = self.open.front().is_some_and(|question| question.id == *id);
        self.open.retain(|question| question.id != *id);
        was_shown
    }

    /// Removes all questions, and returns each with its negative answer.
    pub(super) fn cancel_all(&mut self) -> Vec<(Question, Value)> {
        let cancelled = |question: Question| {
            let answer = if question.method == QUESTION { rejected() } else { permission::outcome(None) };
            (question, answer)
        };
        self.open.drain(..).map(cancelled).collect()
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
            text += &without_control(self.params["prompt"].as_str().unwrap_or("The agent asks"));
            choices(&self.params).into_iter().map(|(_, label)| label).collect()
        };
        for (index, line) in lines.iter().enumerate() {
            text += &format!("\n  {}) {}", index + 1, one_line(line, 160));
        }
        let more = if self.method == PERMISSION { ", y or n" } else { "; empty rejects it" };
        format!("{text}\nnumber{more}> ")
    }

    /// The answer for a line; `None` if the line is invalid. The end of input (Ctrl-D) rejects the request.
    fn answer(&self, line: Option<&str>) -> Option<Value> {
        if self.method == PERMISSION {
            let options = permission::options(&self.params);
            return match line {
                None => Some(permission::outcome(permission::choose(Allow::Reject, &options))),
                Some(line) => {
                    let option: Option<&PermissionOption> = permission::parse_choice(line, &options);
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

/// The options of a question: pairs of id and label, or plain strings.
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
    fn a_question_accepts_a_number_an_id_or_a_label_and_an_empty_line_rejects_it() {
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
        assert_eq!(asked.text(), "\nWhich?\n  1) Option A\n  2) b\nnumber; empty rejects it> ");
    }

    #[test]
    fn with_a_policy_requests_are_answered_without_asking() {
        let params = json!({"options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]});
        let mut questions = Questions::new(Some(Allow::Once)).unwrap();
        let allowed = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
        assert_eq!(questions.receive(&json!(0), PERMISSION, &params), Reaction::Answer(allowed));
        assert_eq!(questions.receive(&json!(1), QUESTION, &json!({})), Reaction::Answer(rejected()));
        assert_eq!(questions.receive(&json!(2), "fs/read_text_file", &json!({})), Reaction::UnknownMethod);
        assert!(!questions.has_open());
    }
}

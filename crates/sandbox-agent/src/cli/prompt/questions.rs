//! Permission requests, questions and forms of the agent: answered by a policy, or asked on the terminal one after
//! the other.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::form::{self, Form, Step};
use super::permission::{self, Allow};
use super::question::{FORM, PERMISSION, QUESTION, Question, rejected};
use super::terminal::Terminal;
use crate::cli::error::CliError;
use crate::cli::style::Colour;

/// The fields of a tool call that are shown in a permission request.
const SHOWN_FIELDS: [&str; 3] = ["title", "content", "rawInput"];

/// The open questions of an agent.
#[derive(Debug)]
pub(super) struct Questions {
    policy: Policy,
    terminal: Option<Terminal>,
    open: VecDeque<Question>,
    /// What the agent reported about its running tool calls, needed because a permission request may name its call only
    /// by id.
    calls: HashMap<String, Value>,
    /// A remark for the user about the last answer.
    remark: Option<&'static str>,
    has_rejected: bool,
}

/// How permission requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// As the user has chosen on the command line.
    Chosen(Allow),
    /// Every request is rejected, because there is no terminal to ask on.
    NoTerminal,
}

/// How to react to an agent request.
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
        Self::on(Terminal::open(), allow)
    }

    fn on(terminal: Option<Terminal>, allow: Option<Allow>) -> Result<Self, CliError> {
        let policy = match (allow, &terminal) {
            (Some(Allow::Ask), None) => {
                return Err(CliError::Usage(
                    "there is no terminal to ask on; use --allow once, --allow always or --allow reject"
                        .to_owned(),
                ));
            }
            (Some(allow), _) => Policy::Chosen(allow),
            (None, Some(_)) => Policy::Chosen(Allow::Ask),
            (None, None) => Policy::NoTerminal,
        };
        let (open, calls) = (VecDeque::new(), HashMap::new());
        Ok(Self { policy, terminal, open, calls, remark: None, has_rejected: false })
    }

    /// True when a user can be asked, so that agents may send forms.
    pub(super) fn can_ask(&self) -> bool {
        self.terminal.is_some()
    }

    /// True when a permission was rejected only because there is no terminal.
    pub(super) fn has_rejected(&self) -> bool {
        self.has_rejected
    }

    /// A remark for the user about the last answer; returned once.
    pub(super) fn take_remark(&mut self) -> Option<&'static str> {
        self.remark.take()
    }

    /// Remembers what a `session/update` reports about a tool call, for a permission request that follows.
    pub(super) fn observe(&mut self, update: &Value) {
        let is_call = matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update"));
        let Some(id) = update["toolCallId"].as_str().filter(|_| is_call && self.asks_for_permission()) else {
            return;
        };
        if matches!(update["status"].as_str(), Some("completed" | "failed")) {
            self.calls.remove(id);
        } else {
            merge(self.calls.entry(id.to_owned()).or_default(), update);
        }
    }

    fn asks_for_permission(&self) -> bool {
        self.policy == Policy::Chosen(Allow::Ask)
    }

    /// Receives an agent request.
    pub(super) fn receive(&mut self, id: &Value, method: &str, params: &Value) -> Reaction {
        let question = match method {
            PERMISSION if self.asks_for_permission() => {
                let call = &params["toolCall"];
                let known = call["toolCallId"].as_str().and_then(|id| self.calls.get(id));
                let mut known = known.cloned().unwrap_or_default();
                merge(&mut known, call);
                Question::permission(id, params, known)
            }
            PERMISSION => return self.decide(params),
            QUESTION if self.can_ask() => Question::own_method(id, params),
            QUESTION => return self.not_asked(rejected()),
            FORM => match Form::read(params).filter(|_| self.can_ask()) {
                Some(form) => Question::form(id, params, form),
                None => return self.not_asked(form::dismissed()),
            },
            _ => return Reaction::UnknownMethod,
        };
        self.open.push_back(question);
        Reaction::AskUser
    }

    /// Answers a permission request by the policy.
    fn decide(&mut self, params: &Value) -> Reaction {
        let allow = match self.policy {
            Policy::Chosen(allow) => allow,
            Policy::NoTerminal => {
                // The remark is the same for each request, so it is shown once.
                if !std::mem::replace(&mut self.has_rejected, true) {
                    self.remark = Some("rejected, because there is no terminal to ask on; see --allow");
                }
                Allow::Reject
            }
        };
        let options = permission::options(params);
        Reaction::Answer(permission::outcome(permission::choose(allow, &options)))
    }

    /// Answers a question or form that cannot be shown. A permission policy does not answer questions.
    fn not_asked(&mut self, answer: Value) -> Reaction {
        self.remark = Some(match self.terminal {
            None => "not answered, because there is no terminal to ask on",
            Some(_) => "not answered, because this client cannot show it",
        });
        Reaction::Answer(answer)
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
            terminal.show(&question.text(terminal.colour()));
        }
    }

    /// Waits for a line for the first open question; `None` if the line does not complete an answer.
    pub(super) async fn answer(&mut self) -> Option<(Question, Value)> {
        let (line, colour) = match &mut self.terminal {
            Some(terminal) => (terminal.line().await, terminal.colour()),
            None => (None, Colour::Off),
        };
        match self.open.front_mut()?.answer(line.as_deref(), colour) {
            Step::Answer(answer) => Some((self.open.pop_front()?, answer)),
            Step::Ask(text) => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.show_again(&text);
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
            let answer = question.refusal();
            (question, answer)
        };
        self.open.drain(..).map(cancelled).collect()
    }
}

/// Replaces the fields of a tool call that an update contains.
fn merge(call: &mut Value, update: &Value) {
    for name in SHOWN_FIELDS {
        if !update[name].is_null() {
            call[name] = update[name].clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params() -> Value {
        json!({"options": [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]})
    }

    fn selected(option: &str) -> Reaction {
        Reaction::Answer(json!({"outcome": {"outcome": "selected", "optionId": option}}))
    }

    #[test]
    fn with_a_policy_permissions_are_answered_without_asking() {
        let mut questions = Questions::on(None, Some(Allow::Once)).unwrap();
        assert_eq!(questions.receive(&json!(0), PERMISSION, &params()), selected("yes"));
        assert_eq!(questions.receive(&json!(1), QUESTION, &json!({})), Reaction::Answer(rejected()));
        assert_eq!(questions.receive(&json!(2), FORM, &json!({})), Reaction::Answer(form::dismissed()));
        assert_eq!(questions.receive(&json!(3), "fs/read_text_file", &json!({})), Reaction::UnknownMethod);
        assert!(!questions.has_open() && !questions.has_rejected());
    }

    #[test]
    fn only_a_permission_that_was_rejected_for_lack_of_a_terminal_is_remembered() {
        let mut unasked = Questions::on(None, None).unwrap();
        assert_eq!(unasked.receive(&json!(0), QUESTION, &json!({})), Reaction::Answer(rejected()));
        assert!(!unasked.has_rejected());
        assert_eq!(unasked.receive(&json!(1), PERMISSION, &params()), selected("no"));
        assert!(unasked.has_rejected());
        let mut wanted = Questions::on(None, Some(Allow::Reject)).unwrap();
        assert_eq!(wanted.receive(&json!(1), PERMISSION, &params()), selected("no"));
        assert!(!wanted.has_rejected() && wanted.take_remark().is_none());
    }
}

//! Forms that an agent sends (ACP's `elicitation/create`). The user fills them in on the terminal, field by field.

use serde_json::{Map, Value, json};

use super::field::Field;
use crate::cli::style::{one_line, without_control};

/// The line that declines a form.
const DECLINE: &str = "-";

/// A form that is being filled in, or an address to visit.
#[derive(Debug)]
pub(super) struct Form {
    message: String,
    url: Option<String>,
    fields: Vec<Field>,
    /// The values so far, keyed by the name of the field.
    values: Map<String, Value>,
    /// The field that is asked for.
    current: usize,
}

/// The next step after a line from the user.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Send this answer.
    Answer(Value),
    /// Show this text and wait for another line.
    Ask(String),
}

impl Form {
    /// Reads the form in a request's parameters; `None` if its mode is one that this client cannot show.
    pub(super) fn read(params: &Value) -> Option<Self> {
        let schema = &params["requestedSchema"];
        let (url, fields) = match params["mode"].as_str() {
            Some("url") => (Some(params["url"].as_str()?.to_owned()), Vec::new()),
            Some("form") | None if schema.is_object() => (None, Field::read_all(schema)),
            _ => return None,
        };
        let message = params["message"].as_str().unwrap_or("The agent asks for input").to_owned();
        Some(Self { message, url, fields, values: Map::new(), current: 0 })
    }

    /// The text to show: the agent's message, the address if there is one, and the prompt for the current field.
    pub(super) fn text(&self) -> String {
        let url = self.url.as_ref().map_or_else(String::new, |url| {
            format!("\nOpen this address in a browser: {}", one_line(url, usize::MAX))
        });
        format!("\n{}{url}{}", without_control(&self.message), self.prompt())
    }

    /// The text that asks for the current field.
    fn prompt(&self) -> String {
        match self.fields.get(self.current) {
            Some(field) => format!("{}; {DECLINE} declines> ", field.text()),
            None => format!("\nEnter accepts; {DECLINE} declines> "),
        }
    }

    /// Processes a line from the user. The end of input (Ctrl-D) dismisses the form.
    pub(super) fn answer(&mut self, line: Option<&str>) -> Step {
        let Some(line) = line.map(str::trim) else { return Step::Answer(dismissed()) };
        if line == DECLINE {
            return Step::Answer(json!({"action": "decline"}));
        }
        if let Some(field) = self.fields.get(self.current) {
            match field.value(line) {
                Ok(Some(value)) => {
                    self.values.insert(field.name().to_owned(), value);
                }
                Ok(None) => {}
                Err(reason) => return Step::Ask(format!("{reason}{}", self.prompt())),
            }
            self.current += 1;
            if self.current < self.fields.len() {
                return Step::Ask(self.prompt());
            }
        } else if !line.is_empty() {
            return Step::Ask(self.prompt());
        }
        Step::Answer(self.accepted())
    }

    fn accepted(&self) -> Value {
        match self.url {
            Some(_) => json!({"action": "accept"}),
            None => json!({"action": "accept", "content": self.values}),
        }
    }
}

/// The answer for a form that no user answered.
pub(super) fn dismissed() -> Value {
    json!({"action": "cancel"})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Form {
        let properties = json!({"age": {"type": "integer", "title": "Age"}, "name": {"type": "string"}});
        let schema = json!({"type": "object", "properties": properties, "required": ["name"]});
        Form::read(&json!({"mode": "form", "message": "Who?", "requestedSchema": schema})).unwrap()
    }

    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let mut form = form();
        assert_eq!(form.text(), "\nWho?\nAge\nwhole number; empty skips it; - declines> ");
        let again = "not a whole number\nAge\nwhole number; empty skips it; - declines> ";
        assert_eq!(form.answer(Some("old")), Step::Ask(again.to_owned()));
        assert_eq!(form.answer(Some("")), Step::Ask("\nname (required)\ntext; - declines> ".to_owned()));
        let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
        assert_eq!(form.answer(Some(" Ada ")), Step::Answer(accepted));
    }

    #[test]
    fn a_form_can_be_declined_or_dismissed() {
        assert_eq!(form().answer(Some("-")), Step::Answer(json!({"action": "decline"})));
        assert_eq!(form().answer(None), Step::Answer(json!({"action": "cancel"})));
    }

    #[test]
    fn an_address_is_shown_and_accepted_with_enter() {
        let mut visit =
            Form::read(&json!({"mode": "url", "message": "Log in", "url": "https://host/\x1bx"})).unwrap();
        let text = "\nLog in\nOpen this address in a browser: https://host/x\nEnter accepts; - declines> ";
        assert_eq!(visit.text(), text);
        assert!(matches!(visit.answer(Some("what?")), Step::Ask(_)));
        assert_eq!(visit.answer(Some("")), Step::Answer(json!({"action": "accept"})));
        assert!(Form::read(&json!({"mode": "hologram", "message": "Look"})).is_none());
    }
}

//! The wire formats, one file each: how a request is parsed, and how an answer is written.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod responses;

use serde_json::Value;

use crate::answer::Failure;
use crate::conversation::{Conversation, text_of};
use crate::error::ModelError;
use crate::playback::{EventWriter, Reply};

/// One wire format.
pub(crate) trait Dialect: Sync {
    /// The format's name, for the journal.
    fn name(&self) -> &'static str;
    /// Parses a request body.
    fn read(&self, body: &Value) -> Result<Conversation, ModelError>;
    /// The answer as one document.
    fn whole(&self, reply: &Reply) -> Value;
    /// The answer as events.
    fn writer(&self, reply: &Reply) -> Box<dyn EventWriter>;
    /// An error in this format.
    fn failure(&self, failure: &Failure) -> Value;
}

/// The fixed creation time of every answer, so that answers are always the same.
pub(crate) const CREATED: u64 = 1_750_000_000;
/// The listed model; requests may name any other.
pub(crate) const MODEL: &str = "scripted";

/// A required list.
fn list<'a>(body: &'a Value, field: &'static str) -> Result<&'a [Value], ModelError> {
    body[field].as_array().map(Vec::as_slice).ok_or(ModelError::Field(field, "a list"))
}

/// An optional list.
fn optional_list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn model_of(body: &Value) -> String {
    body["model"].as_str().unwrap_or(MODEL).to_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The instructions among the messages, in formats that keep them there.
fn instructions_in(messages: &[Value]) -> String {
    let instructions = messages.iter().filter(|message| {
        message["role"].as_str().is_some_and(|role| ["system", "developer"].contains(&role))
    });
    instructions.map(|message| text_of(&message["content"])).collect::<Vec<_>>().join("\n")
}

/// A frame with `data:` only, for formats without event names.
fn data_frame(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event whose name is also its `type`.
fn named_frame(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

/// Splits text in two, so that clients have to join the pieces of arguments.
fn halves(text: &str) -> [&str; 2] {
    let middle =
        (text.len() / 2..=text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(text.len());
    let (first, second) = text.split_at(middle);
    [first, second]
}

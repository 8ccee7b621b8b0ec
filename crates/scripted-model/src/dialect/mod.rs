//! The wire formats. One file each: what it takes from a request, and how it writes an answer.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod responses;

use serde_json::Value;

use crate::answer::Failure;
use crate::conversation::Conversation;
use crate::error::ModelError;
use crate::playback::{EventWriter, Reply};

/// One wire format.
pub(crate) trait Dialect: Sync {
    /// For the journal.
    fn name(&self) -> &'static str;
    /// What the body says.
    fn read(&self, body: &Value) -> Result<Conversation, ModelError>;
    /// The whole answer in one document.
    fn whole(&self, reply: &Reply) -> Value;
    /// The answer as events.
    fn writer(&self, reply: &Reply) -> Box<dyn EventWriter>;
    /// An error, as this format tells it.
    fn failure(&self, failure: &Failure) -> Value;
}

/// The time that every answer claims to be from, so that answers are the same every time.
pub(crate) const CREATED: u64 = 1_750_000_000;
/// The only model there is; any other name is as good.
pub(crate) const MODEL: &str = "scripted";

/// A list that must be there.
fn list<'a>(body: &'a Value, field: &'static str) -> Result<&'a [Value], ModelError> {
    body[field].as_array().map(Vec::as_slice).ok_or(ModelError::Field(field, "a list"))
}

/// A list that may be there.
fn optional_list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn model_of(body: &Value) -> String {
    body["model"].as_str().unwrap_or(MODEL).to_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// `data:` alone: for formats that do not name their events.
fn data_frame(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event whose name is also its `type`.
fn named_frame(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

/// Two parts of a text, because arguments come in pieces and clients must put them together.
fn halves(text: &str) -> [&str; 2] {
    let middle =
        (text.len() / 2..=text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(text.len());
    let (first, second) = text.split_at(middle);
    [first, second]
}

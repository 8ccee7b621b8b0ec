//! OpenAI Responses: `POST /v1/responses` over HTTP; the WebSocket form is not supported.

use serde_json::{Value, json};

use super::{CREATED, Dialect, halves, instructions_in, model_of, named_frame, optional_list, text};
use crate::answer::Failure;
use crate::conversation::{Conversation, Delivery, Entry, Tool, ToolKind, Usage, text_of};
use crate::error::ModelError;
use crate::playback::{EventWriter, Reply, Step};
use crate::tools::{Call, Input};

pub(crate) struct Responses;

impl Dialect for Responses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn read(&self, body: &Value) -> Result<Conversation, ModelError> {
        let (entries, items) = match &body["input"] {
            Value::String(prompt) => (vec![Entry::User(prompt.clone())], [].as_slice()),
            Value::Array(items) => (items.iter().filter_map(read_item).collect(), items.as_slice()),
            _ => return Err(ModelError::Field("input", "a text or a list")),
        };
        let mut tools = Vec::new();
        read_tools(&body["tools"], None, &mut tools);
        let choice = &body["tool_choice"];
        Ok(Conversation {
            model: model_of(body),
            instructions: [text(&body["instructions"]), instructions_in(items)].join("\n"),
            entries,
            tools,
            forced_tool: (choice["type"] == "function").then(|| text(&choice["name"])),
            wanted_schema: body["text"]["format"].get("schema").cloned(),
            delivery: Delivery::of(body),
            usage: Usage::Included,
        })
    }

    fn whole(&self, reply: &Reply) -> Value {
        let turn = &reply.turn;
        let mut output = Vec::new();
        if !turn.thoughts.is_empty() {
            output.push(reasoning(reply, &turn.thinking()));
        }
        if !turn.words.is_empty() {
            output.push(message(reply, "completed", &[output_text(&turn.text())]));
        }
        if let Some(call) = &turn.call {
            output.push(function_call(reply, call, "completed"));
        }
        response(reply, "completed", &output)
    }

    fn writer(&self, reply: &Reply) -> Box<dyn EventWriter> {
        Box::new(Writer { reply: reply.clone(), open: Item::None, output: Vec::new(), sequence: 0 })
    }

    fn failure(&self, failure: &Failure) -> Value {
        openai_failure(failure)
    }
}

/// The shape of an error in both of OpenAI's formats.
pub(super) fn openai_failure(failure: &Failure) -> Value {
    let (kind, code) = match failure.status.as_u16() {
        401 => ("invalid_request_error", Value::from("invalid_api_key")),
        429 => ("rate_limit_error", Value::from("rate_limit_exceeded")),
        400..=499 => ("invalid_request_error", Value::Null),
        _ => ("server_error", Value::from("server_error")),
    };
    json!({"error": {"message": failure.message, "type": kind, "param": null, "code": code}})
}

fn read_item(item: &Value) -> Option<Entry> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => match item["role"].as_str()? {
            "user" => Some(Entry::User(text_of(&item["content"]))),
            "assistant" => Some(Entry::Model),
            _ => None,
        },
        kind if kind.ends_with("call_output") => Some(Entry::Result(text_of(&item["output"]))),
        kind if kind.ends_with("call") => Some(Entry::Model),
        _ => None,
    }
}

/// Functions, tools that take free text, and groups of either.
fn read_tools(tools: &Value, namespace: Option<&str>, read: &mut Vec<Tool>) {
    for tool in optional_list(tools) {
        let kind = match tool["type"].as_str() {
            Some("function") => ToolKind::Function,
            Some("custom") => ToolKind::Custom,
            Some("namespace") => {
                read_tools(&tool["tools"], tool["name"].as_str(), read);
                continue;
            }
            _ => continue,
        };
        read.push(Tool {
            name: text(&tool["name"]),
            namespace: namespace.map(str::to_owned),
            parameters: tool["parameters"].clone(),
            kind,
        });
    }
}

fn response(reply: &Reply, status: &str, output: &[Value]) -> Value {
    let finished = status == "completed";
    let tokens = reply.turn.output_tokens();
    let usage = json!({"input_tokens": reply.input_tokens, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens, "output_tokens_details": {"reasoning_tokens": reply.turn.thoughts.len()},
        "total_tokens": reply.input_tokens + tokens});
    json!({"id": format!("resp_{}", reply.id), "object": "response", "created_at": CREATED, "status": status,
        "error": null, "incomplete_details": null, "instructions": null, "metadata": {}, "model": reply.model,
        "output": output, "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [],
        "top_p": 1.0, "usage": if finished { usage } else { Value::Null }})
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn message(reply: &Reply, status: &str, content: &[Value]) -> Value {
    json!({"type": "message", "id": format!("msg_{}", reply.id), "status": status, "role": "assistant",
        "content": content})
}

fn reasoning(reply: &Reply, thinking: &str) -> Value {
    let summary: Vec<Value> =
        Some(thinking).filter(|text| !text.is_empty()).map(summary_text).into_iter().collect();
    json!({"type": "reasoning", "id": format!("rs_{}", reply.id), "summary": summary})
}

fn summary_text(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

fn function_call(reply: &Reply, call: &Call, status: &str) -> Value {
    let started = status == "in_progress";
    let call_id = format!("call_{}", reply.id);
    let mut item = match &call.input {
        Input::Arguments(arguments) => json!({"type": "function_call", "id": format!("fc_{}", reply.id),
            "call_id": call_id, "name": call.name, "status": status,
            "arguments": if started { String::new() } else { arguments.to_string() }}),
        Input::Text(text) => json!({"type": "custom_tool_call", "id": format!("ctc_{}", reply.id),
            "call_id": call_id, "name": call.name, "status": status,
            "input": if started { "" } else { text }}),
    };
    if let Some(namespace) = &call.namespace {
        item["namespace"] = Value::from(namespace.as_str());
    }
    item
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    None,
    Reasoning,
    Message,
}

struct Writer {
    reply: Reply,
    open: Item,
    /// The finished items.
    output: Vec<Value>,
    sequence: u64,
}

impl Writer {
    fn event(&mut self, kind: &str, mut data: Value) -> String {
        data["type"] = Value::from(kind);
        data["sequence_number"] = Value::from(self.sequence);
        self.sequence += 1;
        named_frame(&data)
    }

    fn item_added(&mut self, item: &Value) -> String {
        let index = self.output.len();
        self.event("response.output_item.added", json!({"output_index": index, "item": item}))
    }

    fn item_done(&mut self, item: Value) -> String {
        let index = self.output.len();
        let frame = self.event("response.output_item.done", json!({"output_index": index, "item": item}));
        self.output.push(item);
        frame
    }

    /// Adds the position of a piece of text in the answer.
    fn place(&self, extra: Value) -> Value {
        let (id, part) = match self.open {
            Item::Reasoning => (format!("rs_{}", self.reply.id), "summary_index"),
            Item::Message | Item::None => (format!("msg_{}", self.reply.id), "content_index"),
        };
        let mut place = extra;
        place["item_id"] = Value::from(id);
        place["output_index"] = Value::from(self.output.len());
        place[part] = Value::from(0);
        place
    }

    fn open(&mut self, wanted: Item) -> String {
        if self.open == wanted {
            return String::new();
        }
        let mut frames = self.close();
        self.open = wanted;
        match wanted {
            Item::None => {}
            Item::Reasoning => {
                frames += &self.item_added(&reasoning(&self.reply, ""));
                let part = self.place(json!({"part": summary_text("")}));
                frames += &self.event("response.reasoning_summary_part.added", part);
            }
            Item::Message => {
                frames += &self.item_added(&message(&self.reply, "in_progress", &[]));
                let part = self.place(json!({"part": output_text("")}));
                frames += &self.event("response.content_part.added", part);
            }
        }
        frames
    }

    fn close(&mut self) -> String {
        let mut frames = String::new();
        match self.open {
            Item::None => {}
            Item::Reasoning => {
                let text = self.reply.turn.thinking();
                let done = self.place(json!({"text": text}));
                frames += &self.event("response.reasoning_summary_text.done", done);
                let part = self.place(json!({"part": summary_text(&text)}));
                frames += &self.event("response.reasoning_summary_part.done", part);
                frames += &self.item_done(reasoning(&self.reply, &text));
            }
            Item::Message => {
                let text = self.reply.turn.text();
                let done = self.place(json!({"text": text, "logprobs": []}));
                frames += &self.event("response.output_text.done", done);
                let part = self.place(json!({"part": output_text(&text)}));
                frames += &self.event("response.content_part.done", part);
                frames += &self.item_done(message(&self.reply, "completed", &[output_text(&text)]));
            }
        }
        self.open = Item::None;
        frames
    }

    fn call(&mut self, call: &Call) -> String {
        let mut frames = self.close();
        frames += &self.item_added(&function_call(&self.reply, call, "in_progress"));
        let done = function_call(&self.reply, call, "completed");
        let (kind, field) = match &call.input {
            Input::Arguments(_) => ("response.function_call_arguments", "arguments"),
            Input::Text(_) => ("response.custom_tool_call_input", "input"),
        };
        let (index, whole) = (self.output.len(), text(&done[field]));
        for part in halves(&whole) {
            let delta = json!({"item_id": done["id"], "output_index": index, "delta": part});
            frames += &self.event(&format!("{kind}.delta"), delta);
        }
        let end = json!({"item_id": done["id"], "output_index": index, field: whole});
        frames += &self.event(&format!("{kind}.done"), end);
        frames + &self.item_done(done)
    }
}

impl EventWriter for Writer {
    fn write(&mut self, step: Step<'_>) -> String {
        match step {
            Step::Start => {
                let begun = response(&self.reply, "in_progress", &[]);
                let created = self.event("response.created", json!({"response": begun}));
                created + &self.event("response.in_progress", json!({"response": begun}))
            }
            Step::Thought(thought) => {
                let opened = self.open(Item::Reasoning);
                let delta = self.place(json!({"delta": thought}));
                opened + &self.event("response.reasoning_summary_text.delta", delta)
            }
            Step::Word(word) => {
                let opened = self.open(Item::Message);
                let delta = self.place(json!({"delta": word, "logprobs": []}));
                opened + &self.event("response.output_text.delta", delta)
            }
            Step::Call(call) => self.call(call),
            Step::End => {
                let closed = self.close();
                let done = response(&self.reply, "completed", &self.output);
                closed + &self.event("response.completed", json!({"response": done}))
            }
        }
    }
}

//! Anthropic Messages: `POST /v1/messages`.

use serde_json::{Value, json};

use super::{Dialect, halves, instructions_in, list, model_of, named_frame, optional_list, text};
use crate::answer::Failure;
use crate::conversation::{Conversation, Delivery, Entry, Tool, ToolKind, Usage, text_of};
use crate::error::ModelError;
use crate::playback::{EventWriter, Reply, Step};
use crate::tools::Call;

/// A placeholder for the signature with which the real model authenticates its thinking.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

pub(crate) struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic-messages"
    }

    fn read(&self, body: &Value) -> Result<Conversation, ModelError> {
        let mut entries = Vec::new();
        let messages = list(body, "messages")?;
        for message in messages {
            read_message(message, &mut entries);
        }
        let choice = &body["tool_choice"];
        let forced_tool = (choice["type"] == "tool").then(|| text(&choice["name"]));
        let format = [&body["output_config"]["format"], &body["output_format"]]
            .into_iter()
            .find(|format| format.is_object());
        Ok(Conversation {
            model: model_of(body),
            instructions: [text_of(&body["system"]), instructions_in(messages)].join("\n"),
            entries,
            tools: optional_list(&body["tools"]).filter_map(read_tool).collect(),
            forced_tool,
            wanted_schema: format.and_then(|format| format.get("schema")).cloned(),
            delivery: Delivery::of(body),
            usage: Usage::Included,
        })
    }

    fn whole(&self, reply: &Reply) -> Value {
        let turn = &reply.turn;
        let mut content = Vec::new();
        if !turn.thoughts.is_empty() {
            content.push(json!({"type": "thinking", "thinking": turn.thinking(), "signature": SIGNATURE}));
        }
        if !turn.words.is_empty() {
            content.push(json!({"type": "text", "text": turn.text()}));
        }
        if let Some(call) = &turn.call {
            content.push(tool_use(reply, call, &call.arguments()));
        }
        let usage = json!({"input_tokens": reply.input_tokens, "output_tokens": turn.output_tokens(),
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
        json!({"id": format!("msg_{}", reply.id), "type": "message", "role": "assistant", "model": reply.model,
            "content": content, "stop_reason": stop_reason(reply), "stop_sequence": null, "usage": usage})
    }

    fn writer(&self, reply: &Reply) -> Box<dyn EventWriter> {
        Box::new(Writer { reply: reply.clone(), open: Block::None, index: 0 })
    }

    fn failure(&self, failure: &Failure) -> Value {
        let kind = match failure.status.as_u16() {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": failure.message}})
    }
}

fn read_message(message: &Value, entries: &mut Vec<Entry>) {
    match message["role"].as_str() {
        Some("assistant") => entries.push(Entry::Model),
        Some("user") => {
            let mut after_result = false;
            if let Value::String(words) = &message["content"] {
                entries.push(Entry::User(words.clone()));
            }
            for block in optional_list(&message["content"]) {
                match block["type"].as_str() {
                    Some("tool_result") => {
                        after_result = true;
                        entries.push(Entry::Result(text_of(&block["content"])));
                    }
                    Some("text") if after_result => entries.push(Entry::TextWithResult(text(&block["text"]))),
                    Some("text") => entries.push(Entry::User(text(&block["text"]))),
                    _ => {}
                }
            }
        }
        // System messages are not prompts.
        _ => {}
    }
}

/// Tools that the provider runs itself have no schema and cannot be called here.
fn read_tool(tool: &Value) -> Option<Tool> {
    let parameters = tool.get("input_schema")?.clone();
    Some(Tool { name: text(&tool["name"]), namespace: None, parameters, kind: ToolKind::Function })
}

fn tool_use(reply: &Reply, call: &Call, input: &Value) -> Value {
    json!({"type": "tool_use", "id": format!("toolu_{}", reply.id), "name": call.name, "input": input})
}

fn stop_reason(reply: &Reply) -> &'static str {
    if reply.turn.call.is_some() { "tool_use" } else { "end_turn" }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    None,
    Thinking,
    Text,
}

struct Writer {
    reply: Reply,
    open: Block,
    index: usize,
}

impl Writer {
    fn delta(&self, delta: &Value) -> String {
        named_frame(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}))
    }

    fn start_block(&self, block: &Value) -> String {
        named_frame(&json!({"type": "content_block_start", "index": self.index, "content_block": block}))
    }

    fn stop_block(&mut self) -> String {
        let frame = named_frame(&json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
        frame
    }

    fn close(&mut self) -> String {
        match std::mem::replace(&mut self.open, Block::None) {
            Block::None => String::new(),
            Block::Text => self.stop_block(),
            Block::Thinking => {
                let signed = self.delta(&json!({"type": "signature_delta", "signature": SIGNATURE}));
                signed + &self.stop_block()
            }
        }
    }

    fn within(&mut self, wanted: Block, block: &Value, delta: &Value) -> String {
        let mut frames = String::new();
        if self.open != wanted {
            frames += &self.close();
            frames += &self.start_block(block);
            self.open = wanted;
        }
        frames + &self.delta(delta)
    }

    fn call(&mut self, call: &Call) -> String {
        let mut frames = self.close();
        frames += &self.start_block(&tool_use(&self.reply, call, &json!({})));
        for part in halves(&call.arguments().to_string()) {
            frames += &self.delta(&json!({"type": "input_json_delta", "partial_json": part}));
        }
        frames + &self.stop_block()
    }
}

impl EventWriter for Writer {
    fn write(&mut self, step: Step<'_>) -> String {
        match step {
            Step::Start => {
                let usage = json!({"input_tokens": self.reply.input_tokens, "output_tokens": 1,
                    "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
                let message = json!({"id": format!("msg_{}", self.reply.id), "type": "message", "role": "assistant",
                    "model": self.reply.model, "content": [], "stop_reason": null, "stop_sequence": null,
                    "usage": usage});
                named_frame(&json!({"type": "message_start", "message": message}))
            }
            Step::Thought(thought) => self.within(
                Block::Thinking,
                &json!({"type": "thinking", "thinking": "", "signature": ""}),
                &json!({"type": "thinking_delta", "thinking": thought}),
            ),
            Step::Word(word) => self.within(
                Block::Text,
                &json!({"type": "text", "text": ""}),
                &json!({"type": "text_delta", "text": word}),
            ),
            Step::Call(call) => self.call(call),
            Step::End => {
                let delta = json!({"stop_reason": stop_reason(&self.reply), "stop_sequence": null});
                let usage = json!({"input_tokens": self.reply.input_tokens,
                    "output_tokens": self.reply.turn.output_tokens()});
                let last = json!({"type": "message_delta", "delta": delta, "usage": usage});
                self.close() + &named_frame(&last) + &named_frame(&json!({"type": "message_stop"}))
            }
        }
    }
}

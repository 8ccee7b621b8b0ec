//! Gemini: `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.
//!
//! The model and the choice of streaming are in the path, so the routes add them after the body is parsed.

use serde_json::{Value, json};

use super::{Dialect, MODEL, data_frame, list, optional_list, text};
use crate::answer::Failure;
use crate::conversation::{Conversation, Delivery, Entry, Tool, ToolKind, Usage, text_of};
use crate::error::ModelError;
use crate::playback::{EventWriter, Reply, Step};
use crate::tools::Call;

pub(crate) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn read(&self, body: &Value) -> Result<Conversation, ModelError> {
        let mut entries = Vec::new();
        for content in list(body, "contents")? {
            read_content(content, &mut entries);
        }
        let declarations = optional_list(&body["tools"]).flat_map(|tool| {
            ["functionDeclarations", "function_declarations"]
                .into_iter()
                .flat_map(|key| optional_list(&tool[key]))
        });
        let tools: Vec<Tool> = declarations.map(read_tool).collect();
        let config = &body["generationConfig"];
        let wanted = ["responseJsonSchema", "responseSchema", "_responseJsonSchema"];
        Ok(Conversation {
            model: MODEL.to_owned(),
            instructions: ["systemInstruction", "system_instruction"]
                .map(|key| text_of(&body[key]["parts"]))
                .join("\n"),
            entries,
            forced_tool: forced(&body["toolConfig"]["functionCallingConfig"]),
            tools,
            wanted_schema: wanted.into_iter().find_map(|key| config.get(key)).cloned(),
            delivery: Delivery::Whole,
            usage: Usage::Included,
        })
    }

    fn whole(&self, reply: &Reply) -> Value {
        let turn = &reply.turn;
        let mut parts = Vec::new();
        if !turn.thoughts.is_empty() {
            parts.push(json!({"text": turn.thinking(), "thought": true}));
        }
        if !turn.words.is_empty() {
            parts.push(json!({"text": turn.text()}));
        }
        parts.extend(turn.call.as_ref().map(|call| function_call(reply, call)));
        finished(reply, &parts)
    }

    fn writer(&self, reply: &Reply) -> Box<dyn EventWriter> {
        Box::new(Writer { reply: reply.clone() })
    }

    fn failure(&self, failure: &Failure) -> Value {
        let status = match failure.status.as_u16() {
            400 | 413 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            _ => "INTERNAL",
        };
        json!({"error": {"code": failure.status.as_u16(), "message": failure.message, "status": status}})
    }
}

fn read_content(content: &Value, entries: &mut Vec<Entry>) {
    if content["role"] == "model" {
        entries.push(Entry::Model);
        return;
    }
    let mut after_result = false;
    for part in optional_list(&content["parts"]) {
        if let Some(result) = part.get("functionResponse") {
            after_result = true;
            entries.push(Entry::Result(result_text(&result["response"])));
        } else if let Some(words) = part["text"].as_str() {
            let words = words.to_owned();
            entries.push(if after_result { Entry::TextWithResult(words) } else { Entry::User(words) });
        }
    }
}

/// By convention, a result is an object with its text under `output` or `error`.
fn result_text(response: &Value) -> String {
    let keys = ["output", "error", "result", "content"];
    let named = keys.into_iter().find_map(|key| response[key].as_str());
    named.map_or_else(|| response.to_string(), str::to_owned)
}

fn read_tool(declaration: &Value) -> Tool {
    let schema = declaration.get("parametersJsonSchema").unwrap_or(&declaration["parameters"]);
    Tool {
        name: text(&declaration["name"]),
        namespace: None,
        parameters: schema.clone(),
        kind: ToolKind::Function,
    }
}

fn forced(config: &Value) -> Option<String> {
    let mut allowed = optional_list(&config["allowedFunctionNames"]).filter_map(Value::as_str);
    match (config["mode"].as_str(), allowed.next(), allowed.next()) {
        (Some("ANY"), Some(only), None) => Some(only.to_owned()),
        _ => None,
    }
}

fn function_call(reply: &Reply, call: &Call) -> Value {
    json!({"functionCall": {"id": format!("call_{}", reply.id), "name": call.name, "args": call.arguments()}})
}

fn content(reply: &Reply, parts: &[Value]) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": reply.model, "responseId": format!("resp_{}", reply.id)})
}

fn finished(reply: &Reply, parts: &[Value]) -> Value {
    let tokens = reply.turn.output_tokens();
    let mut content = content(reply, parts);
    content["candidates"][0]["finishReason"] = Value::from("STOP");
    content["usageMetadata"] = json!({"promptTokenCount": reply.input_tokens, "candidatesTokenCount": tokens,
        "totalTokenCount": reply.input_tokens + tokens});
    content
}

struct Writer {
    reply: Reply,
}

impl EventWriter for Writer {
    fn write(&mut self, step: Step<'_>) -> String {
        match step {
            // The format has no event for this, and its official client fails on comments.
            Step::Start => String::new(),
            Step::Thought(thought) => {
                data_frame(&content(&self.reply, &[json!({"text": thought, "thought": true})]))
            }
            Step::Word(word) => data_frame(&content(&self.reply, &[json!({"text": word})])),
            Step::Call(call) => data_frame(&content(&self.reply, &[function_call(&self.reply, call)])),
            Step::End => data_frame(&finished(&self.reply, &[json!({"text": ""})])),
        }
    }
}

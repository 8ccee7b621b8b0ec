//! OpenAI Chat Completions: `POST /v1/chat/completions`.

use serde_json::{Value, json};

use super::{CREATED, Dialect, data_frame, halves, instructions_in, list, model_of, optional_list, text};
use crate::answer::Failure;
use crate::conversation::{Conversation, Delivery, Entry, Tool, ToolKind, Usage, text_of};
use crate::error::ModelError;
use crate::playback::{EventWriter, Reply, Step};
use crate::tools::Call;

pub(crate) struct Chat;

impl Dialect for Chat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn read(&self, body: &Value) -> Result<Conversation, ModelError> {
        let messages = list(body, "messages")?;
        let tools: Vec<Tool> = optional_list(&body["tools"]).filter_map(read_tool).collect();
        let usage =
            if body["stream_options"]["include_usage"] == true { Usage::Included } else { Usage::Omitted };
        Ok(Conversation {
            model: model_of(body),
            instructions: instructions_in(messages),
            entries: messages.iter().filter_map(read_message).collect(),
            forced_tool: forced(&body["tool_choice"], &tools),
            tools,
            wanted_schema: body["response_format"]["json_schema"].get("schema").cloned(),
            delivery: Delivery::of(body),
            usage,
        })
    }

    fn whole(&self, reply: &Reply) -> Value {
        let turn = &reply.turn;
        let mut message = json!({"role": "assistant", "content": turn.text(), "refusal": null});
        if !turn.thoughts.is_empty() {
            message["reasoning_content"] = Value::from(turn.thinking());
        }
        if let Some(call) = &turn.call {
            message["tool_calls"] = json!([{"id": call_id(reply), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments().to_string()}}]);
            if turn.words.is_empty() {
                message["content"] = Value::Null;
            }
        }
        let choice =
            json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply)});
        json!({"id": id(reply), "object": "chat.completion", "created": CREATED, "model": reply.model,
            "choices": [choice], "usage": usage(reply)})
    }

    fn writer(&self, reply: &Reply) -> Box<dyn EventWriter> {
        Box::new(Writer { reply: reply.clone() })
    }

    fn failure(&self, failure: &Failure) -> Value {
        super::responses::openai_failure(failure)
    }
}

fn read_message(message: &Value) -> Option<Entry> {
    match message["role"].as_str()? {
        "user" => Some(Entry::User(text_of(&message["content"]))),
        "tool" | "function" => Some(Entry::Result(text_of(&message["content"]))),
        "assistant" => Some(Entry::Model),
        // System messages are not prompts.
        _ => None,
    }
}

fn read_tool(tool: &Value) -> Option<Tool> {
    let function = tool.get("function")?;
    let parameters = function["parameters"].clone();
    Some(Tool { name: text(&function["name"]), namespace: None, parameters, kind: ToolKind::Function })
}

fn forced(choice: &Value, tools: &[Tool]) -> Option<String> {
    match (choice.as_str(), tools) {
        (Some("required"), [only]) => Some(only.name.clone()),
        (Some(_), _) => None,
        (None, _) => choice["function"]["name"].as_str().map(str::to_owned),
    }
}

fn id(reply: &Reply) -> String {
    format!("chatcmpl-{}", reply.id)
}

fn call_id(reply: &Reply) -> String {
    format!("call_{}", reply.id)
}

fn finish_reason(reply: &Reply) -> &'static str {
    if reply.turn.call.is_some() { "tool_calls" } else { "stop" }
}

fn usage(reply: &Reply) -> Value {
    let output = reply.turn.output_tokens();
    json!({"prompt_tokens": reply.input_tokens, "completion_tokens": output,
        "total_tokens": reply.input_tokens + output})
}

struct Writer {
    reply: Reply,
}

impl Writer {
    fn chunk(&self, choices: &Value) -> Value {
        json!({"id": id(&self.reply), "object": "chat.completion.chunk", "created": CREATED,
            "model": self.reply.model, "choices": choices})
    }

    fn delta(&self, delta: &Value) -> String {
        let choice = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]);
        data_frame(&self.chunk(&choice))
    }

    fn call(&self, call: &Call) -> String {
        let start = json!({"index": 0, "id": call_id(&self.reply), "type": "function",
            "function": {"name": call.name, "arguments": ""}});
        let mut frames = self.delta(&json!({"tool_calls": [start]}));
        for part in halves(&call.arguments().to_string()) {
            frames += &self.delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}));
        }
        frames
    }

    fn end(&self) -> String {
        let finish = finish_reason(&self.reply);
        let choice = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish}]);
        let mut frames = data_frame(&self.chunk(&choice));
        if self.reply.usage == Usage::Included {
            let mut chunk = self.chunk(&json!([]));
            chunk["usage"] = usage(&self.reply);
            frames += &data_frame(&chunk);
        }
        frames + "data: [DONE]\n\n"
    }
}

impl EventWriter for Writer {
    fn write(&mut self, step: Step<'_>) -> String {
        match step {
            Step::Start => self.delta(&json!({"role": "assistant", "content": ""})),
            Step::Thought(thought) => self.delta(&json!({"reasoning_content": thought})),
            Step::Word(word) => self.delta(&json!({"content": word})),
            Step::Call(call) => self.call(call),
            Step::End => self.end(),
        }
    }
}

//! OpenAI Chat Completions.

use serde_json::{Value, json};

use crate::support::{Event, Model, joined, shell_schema};

const PATH: &str = "/v1/chat/completions";

fn request(prompt: &str) -> Value {
    json!({"model": "any-name", "messages": [{"role": "system", "content": "say nothing"},
            {"role": "user", "content": [{"type": "text", "text": prompt}]}],
        "tools": [{"type": "function", "function": {"name": "developer__shell", "parameters": shell_schema()}}]})
}

fn streamed(prompt: &str) -> Value {
    let mut request = request(prompt);
    request["stream"] = Value::Bool(true);
    request
}

fn finish_reasons(events: &[Event]) -> Vec<&Value> {
    let reasons = events.iter().filter_map(|event| event.data.pointer("/choices/0/finish_reason"));
    reasons.filter(|reason| !reason.is_null()).collect()
}

#[tokio::test]
async fn text_is_answered_in_one_document() {
    let model = Model::start().await;
    let completion = model.ask(PATH, &request("say one two")).await;
    assert_eq!(completion["object"], "chat.completion");
    let choice = &completion["choices"][0];
    assert_eq!(choice["message"]["content"], "one two");
    assert_eq!(choice["finish_reason"], "stop");
    let usage = &completion["usage"];
    let sum = usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap();
    assert_eq!(usage["total_tokens"], sum);
}

#[tokio::test]
async fn text_is_streamed_and_the_stream_ends_with_done() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("say one two")).await;
    assert_eq!(joined(&events, "/choices/0/delta/content"), "one two");
    assert_eq!(finish_reasons(&events), [&json!("stop")]);
    assert_eq!(events.last().unwrap().data, Value::Null);
    assert!(events.iter().all(|event| event.data["usage"].is_null()), "usage was sent without a request");
}

#[tokio::test]
async fn usage_is_streamed_on_request_in_a_chunk_without_choices() {
    let model = Model::start().await;
    let mut request = streamed("say one two");
    request["stream_options"] = json!({"include_usage": true});
    let events = model.events(PATH, &request).await;
    let last = &events[events.len() - 2].data;
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 2);
}

#[tokio::test]
async fn thinking_is_separate_from_the_text() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("think of it")).await;
    assert_eq!(joined(&events, "/choices/0/delta/reasoning_content"), "of it");
    assert_eq!(joined(&events, "/choices/0/delta/content"), "I have thought about it.");
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_quoted() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("shell ls")).await;
    assert_eq!(finish_reasons(&events), [&json!("tool_calls")]);
    assert_eq!(joined(&events, "/choices/0/delta/tool_calls/0/function/name"), "developer__shell");
    let arguments = joined(&events, "/choices/0/delta/tool_calls/0/function/arguments");
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({"command": "ls"}));
    let id = joined(&events, "/choices/0/delta/tool_calls/0/id");

    let mut next = request("shell ls");
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
        "function": {"name": "developer__shell", "arguments": arguments}}]}));
    messages.push(json!({"role": "tool", "tool_call_id": id, "content": "a.txt"}));
    let completion = model.ask(PATH, &next).await;
    assert_eq!(completion["choices"][0]["message"]["content"], "The tool answered:\na.txt");
    assert_eq!(completion["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn an_answer_with_a_tool_call_has_no_content() {
    let model = Model::start().await;
    let completion = model.ask(PATH, &request("shell ls")).await;
    let message = &completion["choices"][0]["message"];
    assert_eq!(message["content"], Value::Null);
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], r#"{"command":"ls"}"#);
}

#[tokio::test]
async fn a_file_is_written_through_the_shell_if_there_is_no_tool_for_it() {
    let model = Model::start().await;
    let completion = model.ask(PATH, &request("write /tmp/a.txt one two")).await;
    let arguments = completion["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"].clone();
    let arguments: Value = serde_json::from_str(arguments.as_str().unwrap()).unwrap();
    assert_eq!(arguments["command"], "printf '%s\\n' 'one two' > '/tmp/a.txt'");
}

#[tokio::test]
async fn any_tool_can_be_called_by_its_name() {
    let model = Model::start().await;
    let completion = model.ask(PATH, &request(r#"call developer__shell {"command":"id","timeout":5}"#)).await;
    let call = &completion["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["arguments"], r#"{"command":"id","timeout":5}"#);
    let completion = model.ask(PATH, &request("call nothing {}")).await;
    let text = completion["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert_eq!(text, "I was offered no tool `nothing`. There are: developer__shell.");
}

#[tokio::test]
async fn requested_json_matches_its_schema() {
    let model = Model::start().await;
    let mut request = request("say one");
    let schema =
        json!({"type": "object", "required": ["who"], "properties": {"who": {"enum": ["user", "model"]}}});
    request["response_format"] =
        json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    let completion = model.ask(PATH, &request).await;
    assert_eq!(completion["choices"][0]["message"]["content"], r#"{"who":"user"}"#);
}

#[tokio::test]
async fn a_failure_has_its_status_in_the_format_of_the_api() {
    let model = Model::start().await;
    for (status, kind) in [(429, "rate_limit_error"), (500, "server_error")] {
        let response = model.post(PATH, &streamed(&format!("fail {status}"))).await;
        assert_eq!(response.status().as_u16(), status);
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["type"], kind);
    }
}

#[tokio::test]
async fn the_path_works_without_its_version() {
    let model = Model::start().await;
    let completion = model.ask("/chat/completions", &request("say one")).await;
    assert_eq!(completion["choices"][0]["message"]["content"], "one");
}

//! Anthropic Messages.

use serde_json::{Value, json};

use crate::support::{Model, joined, shell_schema};

const PATH: &str = "/v1/messages";

fn request(prompt: &str) -> Value {
    json!({"model": "any-name", "max_tokens": 100, "messages": [{"role": "user", "content": prompt}],
        "tools": [{"name": "Bash", "description": "Runs", "input_schema": shell_schema()}]})
}

fn streamed(prompt: &str) -> Value {
    let mut request = request(prompt);
    request["stream"] = Value::Bool(true);
    request
}

#[tokio::test]
async fn text_is_answered_in_one_document_with_the_requested_model() {
    let model = Model::start().await;
    let message = model.ask(PATH, &request("say one two")).await;
    assert_eq!(message["type"], "message");
    assert_eq!(message["role"], "assistant");
    assert_eq!(message["model"], "any-name");
    assert_eq!(message["content"], json!([{"type": "text", "text": "one two"}]));
    assert_eq!(message["stop_reason"], "end_turn");
    assert!(message["usage"]["output_tokens"].as_u64() > Some(0));
}

#[tokio::test]
async fn text_is_streamed_in_one_block_between_a_start_and_a_stop() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("say one two")).await;
    let names: Vec<&str> = events.iter().filter_map(|event| event.name.as_deref()).collect();
    let expected = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(names, expected);
    assert!(events.iter().all(|event| event.name.as_deref() == event.data["type"].as_str()));
    assert_eq!(joined(&events, "/delta/text"), "one two");
    assert_eq!(events[5].data["delta"]["stop_reason"], "end_turn");
}

#[tokio::test]
async fn thinking_is_a_signed_block_before_the_text() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("think of it")).await;
    assert_eq!(events[1].data["content_block"]["type"], "thinking");
    assert_eq!(joined(&events, "/delta/thinking"), "of it");
    assert!(!joined(&events, "/delta/signature").is_empty());
    let text = events.iter().find(|event| event.data["content_block"]["type"] == "text").unwrap();
    assert_eq!(text.data["index"], 1);
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_quoted() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("shell ls -la")).await;
    let call = events[1].data["content_block"].clone();
    assert_eq!(call["type"], "tool_use");
    assert_eq!(call["name"], "Bash");
    let input: Value = serde_json::from_str(&joined(&events, "/delta/partial_json")).unwrap();
    assert_eq!(input, json!({"command": "ls -la"}));
    let ending = &events[events.len() - 2].data;
    assert_eq!(ending["delta"]["stop_reason"], "tool_use");

    let mut next = request("shell ls -la");
    let reminder = "<system-reminder>\nsay nothing of this\n</system-reminder>";
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": call["id"], "name": "Bash", "input": input}]}));
    messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "a.txt"}]},
        {"type": "text", "text": reminder}]}));
    let message = model.ask(PATH, &next).await;
    assert_eq!(message["content"][0]["text"], "The tool answered:\na.txt");
    assert_eq!(message["stop_reason"], "end_turn");
}

#[tokio::test]
async fn the_same_conversation_gets_the_same_ids_on_every_model() {
    let (first, second) = (Model::start().await, Model::start().await);
    let request = request("shell ls");
    let answer = first.ask(PATH, &request).await;
    assert_eq!(answer, second.ask(PATH, &request).await);
    let again = first.ask(PATH, &request).await;
    assert_ne!(answer["content"][0]["id"], again["content"][0]["id"]);
}

#[tokio::test]
async fn a_forced_tool_is_called_whatever_the_prompt_says() {
    let model = Model::start().await;
    let mut request = request("say one");
    request["tool_choice"] = json!({"type": "tool", "name": "Bash"});
    let message = model.ask(PATH, &request).await;
    assert_eq!(message["content"][0]["type"], "tool_use");
    assert_eq!(message["content"][0]["input"], json!({"command": "scripted"}));
}

#[tokio::test]
async fn a_failure_has_its_status_in_the_format_of_the_api() {
    let model = Model::start().await;
    for (status, kind) in [(429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")] {
        let response = model.post(PATH, &streamed(&format!("fail {status}"))).await;
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(response.headers()["x-should-retry"], "false");
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["type"], "error");
        assert_eq!(error["error"]["type"], kind);
    }
}

#[tokio::test]
async fn a_request_without_messages_is_refused_in_the_format_of_the_api() {
    let model = Model::start().await;
    let response = model.post(PATH, &json!({"model": "x"})).await;
    assert_eq!(response.status().as_u16(), 400);
    let error: Value = response.json().await.unwrap();
    assert_eq!(error["error"]["type"], "invalid_request_error");
    assert_eq!(error["error"]["message"], "`messages` is missing or is not a list");
}

#[tokio::test]
async fn tokens_are_counted_and_models_listed() {
    let model = Model::start().await;
    let short = model.ask("/v1/messages/count_tokens", &request("hi")).await;
    let long = model.ask("/v1/messages/count_tokens", &request(&"hi ".repeat(100))).await;
    assert!(long["input_tokens"].as_u64() > short["input_tokens"].as_u64());
    assert!(short["input_tokens"].as_u64() > Some(0));
    let models = model.get("/v1/models").await;
    assert_eq!(models["data"][0]["type"], "model");
    assert_eq!(models["has_more"], false);
}

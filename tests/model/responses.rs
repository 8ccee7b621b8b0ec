//! OpenAI Responses.

use serde_json::{Value, json};

use crate::support::{Event, Model, joined, shell_schema};

const PATH: &str = "/v1/responses";

fn request(prompt: &str) -> Value {
    let context = "<environment_context>\nshell: bash\n</environment_context>";
    json!({"model": "any-name", "instructions": "say nothing", "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "say no"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": context}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}],
        "tools": [{"type": "function", "name": "exec_command", "parameters": shell_schema()},
            {"type": "web_search"}]})
}

fn streamed(prompt: &str) -> Value {
    let mut request = request(prompt);
    request["stream"] = Value::Bool(true);
    request
}

fn named<'a>(events: &'a [Event], name: &str) -> &'a Value {
    let mut matching = events.iter().filter(|event| event.name.as_deref() == Some(name));
    let event = matching.next().unwrap_or_else(|| panic!("no {name}"));
    &event.data
}

#[tokio::test]
async fn a_prompt_in_one_string_is_answered_in_one_document() {
    let model = Model::start().await;
    let response = model.ask(PATH, &json!({"model": "m", "input": "say one two"})).await;
    assert_eq!(response["object"], "response");
    assert_eq!(response["status"], "completed");
    let message = &response["output"][0];
    assert_eq!(message["type"], "message");
    assert_eq!(message["content"][0]["text"], "one two");
}

#[tokio::test]
async fn text_is_streamed_in_numbered_events_from_created_to_completed() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("say one two")).await;
    let names: Vec<&str> = events.iter().filter_map(|event| event.name.as_deref()).collect();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(names, expected);
    let numbers: Vec<u64> =
        events.iter().filter_map(|event| event.data["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<u64>>());
    assert_eq!(joined(&events, "/delta"), "one two");
    let completed = named(&events, "response.completed");
    assert_eq!(completed["response"]["output"][0], named(&events, "response.output_item.done")["item"]);
    assert_eq!(completed["response"]["usage"]["output_tokens"], 2);
}

#[tokio::test]
async fn thinking_is_a_separate_item() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("think of it")).await;
    assert_eq!(named(&events, "response.reasoning_summary_text.done")["text"], "of it");
    let output = named(&events, "response.completed")["response"]["output"].clone();
    assert_eq!(output[0]["type"], "reasoning");
    assert_eq!(output[0]["summary"][0]["text"], "of it");
    assert_eq!(output[1]["type"], "message");
    assert_eq!(named(&events, "response.output_text.delta")["output_index"], 1);
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_quoted() {
    let model = Model::start().await;
    let events = model.events(PATH, &streamed("shell ls")).await;
    assert_eq!(named(&events, "response.output_item.added")["item"]["arguments"], "");
    assert_eq!(joined(&events, "/delta"), r#"{"command":"ls"}"#);
    let call = named(&events, "response.output_item.done")["item"].clone();
    assert_eq!(call["type"], "function_call");
    assert_eq!(call["name"], "exec_command");
    assert_eq!(call["arguments"], r#"{"command":"ls"}"#);

    let mut next = request("shell ls");
    let input = next["input"].as_array_mut().unwrap();
    input.push(call.clone());
    input.push(json!({"type": "function_call_output", "call_id": call["call_id"], "output": "a.txt"}));
    let response = model.ask(PATH, &next).await;
    assert_eq!(response["output"][0]["content"][0]["text"], "The tool answered:\na.txt");
}

#[tokio::test]
async fn a_tool_that_takes_free_text_is_called_with_it() {
    let model = Model::start().await;
    let mut request = streamed("shell ls");
    request["tools"] = json!([{"type": "custom", "name": "exec", "format": {"type": "text"}}]);
    let events = model.events(PATH, &request).await;
    let call = &named(&events, "response.output_item.done")["item"];
    assert_eq!(call["type"], "custom_tool_call");
    assert_eq!(call["input"], "ls");
    assert_eq!(named(&events, "response.custom_tool_call_input.done")["input"], "ls");
}

#[tokio::test]
async fn a_tool_in_a_group_is_called_with_the_name_of_its_group() {
    let model = Model::start().await;
    let mut request = request("shell ls");
    let tool = json!({"type": "function", "name": "shell", "parameters": shell_schema()});
    request["tools"] = json!([{"type": "namespace", "name": "local", "tools": [tool]}]);
    let response = model.ask(PATH, &request).await;
    assert_eq!(response["output"][0]["namespace"], "local");
    assert_eq!(response["output"][0]["name"], "shell");
}

#[tokio::test]
async fn a_failure_has_its_status_in_the_format_of_the_api() {
    let model = Model::start().await;
    for (status, code) in [(429, "rate_limit_exceeded"), (500, "server_error")] {
        let response = model.post(PATH, &streamed(&format!("fail {status}"))).await;
        assert_eq!(response.status().as_u16(), status);
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["code"], code);
    }
    let response = model.post(PATH, &json!({"model": "m"})).await;
    assert_eq!(response.status().as_u16(), 400);
}

//! Gemini.

use serde_json::{Value, json};

use crate::support::{Model, joined};

const WHOLE: &str = "/v1beta/models/any-name:generateContent";
const STREAM: &str = "/v1beta/models/any-name:streamGenerateContent?alt=sse";
const TEXT: &str = "/candidates/0/content/parts/0/text";

fn request(prompt: &str) -> Value {
    let schema =
        json!({"type": "OBJECT", "required": ["command"], "properties": {"command": {"type": "STRING"}}});
    json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "systemInstruction": {"parts": [{"text": "say nothing"}]},
        "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parameters": schema}]}]})
}

#[tokio::test]
async fn text_is_answered_in_one_document_with_the_model_in_the_path() {
    let model = Model::start().await;
    let answer = model.ask(WHOLE, &request("say one two")).await;
    assert_eq!(answer.pointer(TEXT), Some(&json!("one two")));
    assert_eq!(answer["candidates"][0]["finishReason"], "STOP");
    assert_eq!(answer["modelVersion"], "any-name");
    assert!(answer["usageMetadata"]["totalTokenCount"].as_u64() > Some(0));
}

#[tokio::test]
async fn text_is_streamed_and_only_the_last_event_has_a_finish_reason() {
    let model = Model::start().await;
    let events = model.events(STREAM, &request("say one two")).await;
    assert_eq!(joined(&events, TEXT), "one two");
    let stops: Vec<bool> =
        events.iter().map(|event| event.data["candidates"][0]["finishReason"] == "STOP").collect();
    assert_eq!(stops, [false, false, true]);
}

#[tokio::test]
async fn a_stream_without_sse_is_a_json_array() {
    let model = Model::start().await;
    let chunks = model.ask("/v1beta/models/m:streamGenerateContent", &request("say one")).await;
    assert_eq!(chunks[0].pointer(TEXT), Some(&json!("one")));
}

#[tokio::test]
async fn thinking_is_marked() {
    let model = Model::start().await;
    let events = model.events(STREAM, &request("think of it")).await;
    let (thoughts, words): (Vec<_>, Vec<_>) = events
        .into_iter()
        .partition(|event| event.data.pointer("/candidates/0/content/parts/0/thought") == Some(&json!(true)));
    assert_eq!(joined(&thoughts, TEXT), "of it");
    assert_eq!(joined(&words, TEXT), "I have thought about it.");
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_quoted() {
    let model = Model::start().await;
    let events = model.events(STREAM, &request("shell ls")).await;
    let call = events[0].data["candidates"][0]["content"]["parts"][0]["functionCall"].clone();
    assert_eq!(call["name"], "run_shell_command");
    assert_eq!(call["args"], json!({"command": "ls"}));

    let mut next = request("shell ls");
    let contents = next["contents"].as_array_mut().unwrap();
    contents.push(json!({"role": "model", "parts": [{"functionCall": call}]}));
    contents.push(json!({"role": "user", "parts": [{"functionResponse": {"id": call["id"],
        "name": "run_shell_command", "response": {"output": "a.txt"}}}]}));
    let answer = model.ask(WHOLE, &next).await;
    assert_eq!(answer.pointer(TEXT), Some(&json!("The tool answered:\na.txt")));
}

#[tokio::test]
async fn requested_json_matches_its_schema() {
    let model = Model::start().await;
    let mut request = request("say one");
    let schema = json!({"type": "object", "required": ["next_speaker"],
        "properties": {"next_speaker": {"type": "string", "enum": ["user", "model"]}}});
    request["generationConfig"] =
        json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    let answer = model.ask(WHOLE, &request).await;
    assert_eq!(answer.pointer(TEXT), Some(&json!(r#"{"next_speaker":"user"}"#)));
}

#[tokio::test]
async fn a_failure_has_its_status_in_the_format_of_the_api() {
    let model = Model::start().await;
    for (status, name) in [(429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL")] {
        let response = model.post(STREAM, &request(&format!("fail {status}"))).await;
        assert_eq!(response.status().as_u16(), status);
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["status"], name);
        assert_eq!(error["error"]["code"], status);
    }
}

#[tokio::test]
async fn an_unknown_method_is_not_found() {
    let model = Model::start().await;
    let response = model.post("/v1beta/models/m:paint", &request("say one")).await;
    assert_eq!(response.status().as_u16(), 404);
}

#[tokio::test]
async fn tokens_are_counted_and_models_listed() {
    let model = Model::start().await;
    let counted = model.ask("/v1beta/models/m:countTokens", &request("say one")).await;
    assert!(counted["totalTokens"].as_u64() > Some(0));
    let models = model.get("/v1beta/models").await;
    assert_eq!(models["models"][0]["name"], "models/scripted");
    assert_eq!(model.get("/v1beta/models/other").await["name"], "models/other");
}

//! Unsuccessful answers: temporary failures, clients that disconnect, connections that break.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Model, abandon_after, joined};

const CHAT: &str = "/v1/chat/completions";

fn streamed(prompt: &str) -> Value {
    json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": prompt}]})
}

#[tokio::test]
async fn a_failure_with_a_count_ends_after_that_many_retries() {
    let model = Model::start().await;
    for _ in 0..2 {
        let response = model.post(CHAT, &streamed("fail 503 2")).await;
        assert_eq!(response.status().as_u16(), 503);
        assert_eq!(response.headers()["x-should-retry"], "true");
        assert_eq!(response.headers()["retry-after"], "1");
    }
    let events = model.events(CHAT, &streamed("fail 503 2")).await;
    assert_eq!(joined(&events, "/choices/0/delta/content"), "Recovered at try 3.");
    let anew = model.post(CHAT, &streamed("fail 503 2")).await;
    assert_eq!(anew.status().as_u16(), 503);
}

#[tokio::test]
async fn a_connection_can_break_only_once() {
    let model = Model::start().await;
    let broken = model.post(CHAT, &streamed("cut 1")).await;
    assert!(broken.text().await.is_err());
    let events = model.events(CHAT, &streamed("cut 1")).await;
    assert_eq!(joined(&events, "/choices/0/delta/content"), "Recovered at try 2.");
}

#[tokio::test]
async fn a_slow_answer_is_sent_word_by_word_over_its_whole_duration() {
    let model = Model::start().await;
    let response = model.post(CHAT, &streamed("slow 1")).await;
    let first = abandon_after(response, 2).await;
    assert!(first.contains("word1 "), "{first}");
    let started = Instant::now();
    let events = model.events(CHAT, &streamed("slow 1")).await;
    assert!(started.elapsed() >= Duration::from_millis(900));
    assert!(joined(&events, "/choices/0/delta/content").ends_with("word9 word10 "));
}

#[tokio::test]
async fn a_slow_stream_ends_when_its_client_disconnects() {
    let model = Model::start().await;
    for (path, body) in [
        (CHAT, streamed("slow 3600")),
        ("/v1/messages", streamed("slow 3600")),
        ("/v1/responses", json!({"model": "m", "stream": true, "input": "slow 3600"})),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({"contents": [{"role": "user", "parts": [{"text": "slow 3600"}]}]}),
        ),
    ] {
        let response = model.post(path, &body).await;
        abandon_after(response, 3).await;
        let request = model.wait_for_outcome("abandoned").await;
        assert_eq!(request["script"], "slow");
    }
}

#[tokio::test]
async fn a_slow_document_ends_when_its_client_disconnects() {
    let model = Model::start().await;
    let mut body = streamed("slow 3600");
    body["stream"] = Value::Bool(false);
    let request = model.client.post(format!("{}{CHAT}", model.url)).json(&body);
    let hasty = request.timeout(Duration::from_millis(300)).send().await;
    assert!(hasty.is_err_and(|error| error.is_timeout()));
    model.wait_for_outcome("abandoned").await;
}

#[tokio::test]
async fn a_cut_answer_breaks_the_connection_before_its_end() {
    let model = Model::start().await;
    for stream in [true, false] {
        let mut body = streamed("cut");
        body["stream"] = Value::Bool(stream);
        let response = model.post(CHAT, &body).await;
        assert_eq!(response.status().as_u16(), 200);
        assert!(response.bytes().await.is_err());
        model.wait_for_outcome("cut").await;
    }
}

#[tokio::test]
async fn a_long_answer_has_every_word() {
    let model = Model::start().await;
    let events = model.events(CHAT, &streamed("long 5000")).await;
    let words = joined(&events, "/choices/0/delta/content");
    assert_eq!(words.split_whitespace().count(), 5000);
    assert!(words.ends_with("word5000 "));
}

#[tokio::test]
async fn a_prompt_without_a_script_is_quoted_back() {
    let model = Model::start().await;
    let events = model.events(CHAT, &streamed("How are you?")).await;
    assert_eq!(joined(&events, "/choices/0/delta/content"), "You said: How are you?");
}

#[tokio::test]
async fn the_journal_records_requests_and_their_outcomes() {
    let model = Model::start().await;
    model.events(CHAT, &streamed("say one")).await;
    let request = model.wait_for_outcome("finished").await;
    let expected = json!({"number": 1, "api": "openai-chat", "model": "m", "stream": true, "prompt": "say one", "messages": 1,
        "script": "say", "attempt": 1, "tools": [], "outcome": "finished"});
    assert_eq!(request, expected);
}

//! Concurrent prompts and requests.

use serde_json::json;

use crate::harness::Agent;

#[test]
fn a_second_prompt_in_a_busy_session_is_refused_and_the_first_continues() {
    let mut agent = Agent::ready(&json!({}));
    let first = agent.ask_prompt("mock-session-1", "slow 0.5");
    let second = agent.ask_prompt("mock-session-1", "hello");
    let refused = agent.next_where(|message| message["id"] == second);
    assert_eq!(refused["error"]["code"], -32600);
    assert!(refused["error"]["data"].as_str().unwrap().contains("mock-session-1"), "{refused}");
    assert!(agent.finish(first, |_| unreachable!()).text().ends_with("Done, slowly."));
}

#[test]
fn sessions_are_answered_concurrently() {
    let mut agent = Agent::ready(&json!({}));
    agent.new_session();
    let slow = agent.ask_prompt("mock-session-1", "forever");
    let quick = agent.ask_prompt("mock-session-2", "echo quick");
    assert_eq!(agent.next_where(|message| message["id"] == quick)["result"]["stopReason"], "end_turn");
    agent.notify("session/cancel", &json!({"sessionId": "mock-session-1"}));
    assert_eq!(agent.finish(slow, |_| unreachable!()).stop_reason(), "cancelled");
}

#[test]
fn everything_else_is_answered_while_a_prompt_waits_for_the_client() {
    let mut agent = Agent::ready(&json!({}));
    let waiting = agent.ask_prompt("mock-session-1", "permission");
    let request = agent.next_where(|message| message.get("id").is_some());
    assert_eq!(agent.call("session/list", &json!({}))["result"]["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(agent.new_session()["sessionId"], "mock-session-2");
    let params = json!({"sessionId": "mock-session-1", "configId": "model", "value": "mock-large"});
    assert!(agent.call("session/set_config_option", &params)["result"].is_object());
    agent.answer(&request, &json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}}));
    assert_eq!(agent.finish(waiting, |_| unreachable!()).stop_reason(), "end_turn");
}

#[test]
fn twenty_sessions_stream_at_once_and_none_loses_a_chunk() {
    let mut agent = Agent::ready(&json!({}));
    for _ in 1..20 {
        agent.new_session();
    }
    let prompts: Vec<_> =
        (1..=20).map(|n| agent.ask_prompt(&format!("mock-session-{n}"), "stream 200")).collect();
    let mut chunks = std::collections::HashMap::new();
    let mut answered = 0;
    while answered < prompts.len() {
        let message = agent.next();
        if message["params"]["update"]["sessionUpdate"] == "agent_message_chunk" {
            *chunks.entry(message["params"]["sessionId"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        } else if message.get("result").is_some() {
            assert_eq!(message["result"]["stopReason"], "end_turn");
            answered += 1;
        }
    }
    assert_eq!(chunks.len(), 20);
    assert!(chunks.values().all(|count| *count == 200), "{chunks:?}");
}

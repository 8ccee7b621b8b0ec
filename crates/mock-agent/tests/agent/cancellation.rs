//! Cancellation.

use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::Agent;

fn is_chunk(message: &Value) -> bool {
    message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
}

#[test]
fn slow_ticks_until_it_is_done() {
    let mut agent = Agent::ready(&json!({}));
    let begun = Instant::now();
    let turn = agent.prompt("slow 0.3");
    assert!(begun.elapsed().as_millis() >= 300);
    assert_eq!(turn.text(), "tick 1 of 3\ntick 2 of 3\ntick 3 of 3\nDone, slowly.");
}

#[test]
fn session_cancel_stops_a_slow_turn_at_once() {
    let mut agent = Agent::ready(&json!({}));
    for prompt in ["slow 1000", "forever"] {
        let id = agent.ask_prompt("mock-session-1", prompt);
        agent.next_where(is_chunk);
        agent.notify("session/cancel", &json!({"sessionId": "mock-session-1"}));
        assert_eq!(agent.finish(id, |_| unreachable!()).stop_reason(), "cancelled", "{prompt}");
    }
    assert_eq!(agent.prompt("echo free again").text(), "free again");
}

#[test]
fn cancel_request_stops_the_prompt_it_names() {
    let mut agent = Agent::ready(&json!({}));
    let id = agent.ask_prompt("mock-session-1", "forever");
    agent.next_where(is_chunk);
    agent.notify("$/cancel_request", &json!({"requestId": id}));
    assert_eq!(agent.finish(id, |_| unreachable!()).stop_reason(), "cancelled");
    assert_eq!(agent.prompt("echo free again").text(), "free again");
}

#[test]
fn a_cancel_right_after_the_prompt_is_not_missed() {
    let mut agent = Agent::ready(&json!({}));
    let id = agent.ask_prompt("mock-session-1", "forever");
    agent.notify("session/cancel", &json!({"sessionId": "mock-session-1"}));
    assert_eq!(agent.finish(id, |_| unreachable!()).stop_reason(), "cancelled");
}

#[test]
fn a_long_stream_stops_when_cancelled() {
    let mut agent = Agent::ready(&json!({}));
    let id = agent.ask_prompt("mock-session-1", "stream 10000000 100");
    agent.next_where(is_chunk);
    agent.notify("session/cancel", &json!({"sessionId": "mock-session-1"}));
    assert_eq!(agent.finish(id, |_| unreachable!()).stop_reason(), "cancelled");
}

#[test]
fn cancelling_cancels_the_requests_to_the_client() {
    let mut agent = Agent::ready(&json!({}));
    for prompt in ["permission", "question"] {
        let id = agent.ask_prompt("mock-session-1", prompt);
        let request = agent.next_where(|message| message.get("id").is_some());
        agent.notify("session/cancel", &json!({"sessionId": "mock-session-1"}));
        let turn = agent.finish(id, |_| unreachable!());
        assert_eq!(turn.stop_reason(), "cancelled");
        assert_eq!(turn.others[0]["method"], "$/cancel_request");
        assert_eq!(turn.others[0]["params"]["requestId"], request["id"]);
        // The client answers anyway; that must have no effect.
        agent.answer(&request, &json!({"outcome": {"outcome": "cancelled"}}));
    }
    assert_eq!(agent.prompt("echo fine").text(), "fine");
}

#[test]
fn closing_and_deleting_a_session_stop_its_turn() {
    let mut agent = Agent::ready(&json!({}));
    for (method, session) in [("session/close", "mock-session-1"), ("session/delete", "mock-session-2")] {
        if session == "mock-session-2" {
            agent.new_session();
        }
        let prompt = agent.ask_prompt(session, "forever");
        agent.next_where(is_chunk);
        let ended = agent.ask(method, &json!({"sessionId": session}));
        let mut answered = Vec::new();
        while answered.len() < 2 {
            let message = agent.next_where(|message| message.get("id").is_some());
            if message["id"] == prompt {
                assert_eq!(message["result"]["stopReason"], "cancelled");
            } else {
                assert_eq!((&message["id"], &message["result"]), (&json!(ended), &json!({})));
            }
            answered.push(message);
        }
    }
}

#[test]
fn a_session_closed_during_a_turn_accepts_a_prompt_as_soon_as_it_is_resumed() {
    let mut agent = Agent::ready(&json!({}));
    agent.ask_prompt("mock-session-1", "forever");
    agent.next_where(is_chunk);
    agent.ask("session/close", &json!({"sessionId": "mock-session-1"}));
    agent.ask("session/resume", &json!({"sessionId": "mock-session-1", "cwd": "/mock"}));
    let again = agent.ask_prompt("mock-session-1", "echo again");
    let answer = agent.next_where(|message| message["id"] == again);
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
}

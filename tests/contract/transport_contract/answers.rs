//! POST, rule 12: answers to agent requests; the first one wins.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::{call, response};

fn server_with_question(id: serde_json::Value) -> Server {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "ask", json!({"id": id, "method": "session/request_permission", "params": {}}));
    server
}

#[test]
fn the_first_answer_wins_and_a_second_is_409_and_not_forwarded() {
    let server = server_with_question(json!("q"));
    let mut stream = server.get("a").query("replay", "none").stream();
    server.post("a", response("q", json!("first"))).send().expect_accepted();
    server.post("a", response("q", json!("second"))).send().problem(409, "already_answered");
    let notified = stream.until(|event| event.is_call_of("asked"));
    assert!(notified.data.contains("first"));
    server.tell("a", "echo", json!({}));
    let rest = stream.up_to(|event| event.name == "message" && event.json()["method"].is_null());
    assert!(!rest.iter().any(|event| event.is_call_of("asked")), "the second answer reached the agent");
}

#[test]
fn of_two_clients_that_answer_one_permission_at_once_exactly_one_wins() {
    let server = server_with_question(json!(0));
    let racers: Vec<_> = (0..16).map(|n| server.post("a", response(0, json!(n))).start()).collect();
    let statuses: Vec<_> = racers.into_iter().map(|racer| racer.join().unwrap().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 202).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [202, 409].contains(status)), "{statuses:?}");
}

#[test]
fn an_error_is_an_answer_too() {
    let server = server_with_question(json!("q"));
    let refusal = r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32000,"message":"no"}}"#;
    server.post("a", refusal).send().expect_accepted();
    server.post("a", response("q", json!("yes"))).send().problem(409, "already_answered");
}

#[test]
fn a_response_to_an_unknown_id_is_forwarded() {
    let server = server_with_question(json!("q"));
    let mut stream = server.get("a").query("replay", "none").stream();
    server.post("a", response("other", json!(1))).send().expect_accepted();
    let notified = stream.until(|event| event.is_call_of("asked"));
    assert!(notified.data.contains("other"));
    assert_eq!(server.summary("a").unwrap()["awaiting"].as_array().unwrap().len(), 1);
}

#[test]
fn every_reader_receives_the_answered_event_in_order() {
    let server = server_with_question(json!(12));
    let question = server.stream("a").until(|event| event.json()["method"] == "session/request_permission");
    let mut readers = [server.stream("a"), server.stream("a")];
    server.post("a", response(12, json!("yes"))).send().expect_accepted();
    for reader in &mut readers {
        let events = reader.up_to(|event| event.name == "answered");
        let answered = events.last().unwrap();
        assert_eq!(answered.json(), json!({"id": 12, "event": question.number()}));
        assert_eq!(answered.id, None);
    }
    // A later reader receives it too.
    server.stream("a").until(|event| event.name == "answered");
}

#[test]
fn awaiting_lists_the_agents_unanswered_requests_until_they_are_answered() {
    let server = server_with_question(json!("q"));
    let awaiting = server.summary("a").unwrap()["awaiting"].clone();
    let question = server.stream("a").until(|event| event.json()["method"] == "session/request_permission");
    assert_eq!(awaiting, json!([{"id": "q", "event": question.number()}]));
    server.post("a", response("q", json!(1))).send().expect_accepted();
    assert_eq!(server.summary("a").unwrap()["awaiting"], json!([]));
}

#[test]
fn an_id_that_the_agent_reuses_can_be_answered_again() {
    let server = server_with_question(json!(0));
    server.post("a", response(0, json!(1))).send().expect_accepted();
    server.tell("a", "ask", json!({"id": 0, "method": "again", "params": {}}));
    server.post("a", response(0, json!(2))).send().expect_accepted();
    server.post("a", response(0, json!(3))).send().problem(409, "already_answered");
}

#[test]
fn agent_request_ids_and_client_request_ids_are_independent() {
    let server = server_with_question(json!(1));
    // The client has its own open request 1; answering the agent's request 1 does not affect it.
    let waiting = server.post("a", call(1, "slow", json!({"ms": 300}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    server.post("a", response(1, json!("answer"))).send().expect_accepted();
    assert_eq!(waiting.join().unwrap().expect(200).json()["id"], 1);
}

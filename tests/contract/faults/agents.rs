//! Regression tests for the behaviour of real agents in the matrix (`docs/agent-matrix.md`).

use serde_json::{Value, json};

use test_harness::rpc::{call, notification, response};
use test_harness::{Request, Server};

fn server() -> Server {
    let server = Server::start();
    server.open("a", "fault");
    server
}

/// A request that makes the agent write these lines at once instead of an answer.
fn writing(server: &Server, id: Value, lines: &[String]) -> Request {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    server.post("a", call(id, "raw", json!({"text": text, "answer": false})))
}

/// Makes the agent write these lines; no client waits for an answer.
fn write(server: &Server, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    server.post("a", notification("raw", json!({"text": text, "answer": false}))).send().expect_accepted();
}

fn pending(server: &Server) -> Value {
    server.summary("a").unwrap()["pendingRequests"].clone()
}

#[test]
fn an_error_that_carries_the_id_of_the_agents_own_request_does_not_answer_it() {
    let server = server();
    server.tell("a", "ask", json!({"id": 0, "method": "session/request_permission", "params": {}}));
    let mut stream = server.get("a").query("replay", "none").stream();
    let error = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"mine"}}"#;
    write(&server, &[error.to_owned()]);
    assert_eq!(stream.next().data, error);
    assert_eq!(server.summary("a").unwrap()["awaiting"][0]["id"], 0);
    server.post("a", response(0, json!("yes"))).send().expect_accepted();
    assert!(stream.until(|event| event.is_call_of("asked")).data.contains("yes"));
}

#[test]
fn a_parse_error_with_a_null_or_missing_id_is_passed_on_and_answers_no_request() {
    let server = server();
    let waiting = server.post("a", call(1, "slow", json!({"ms": 1500}))).start();
    server.wait_for("a", "the request waits", |summary| summary["pendingRequests"] == 1);
    let mut stream = server.get("a").query("replay", "none").stream();
    let errors = [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#.to_owned(),
    ];
    write(&server, &errors);
    for error in &errors {
        let event = stream.next();
        assert_eq!((event.name.as_str(), &event.data), ("message", error));
    }
    assert_eq!(pending(&server), 1);
    assert_eq!(waiting.join().unwrap().expect(200).json()["id"], 1);
}

#[test]
fn updates_before_and_after_the_answer_that_opens_a_session_keep_their_order() {
    let server = server();
    let mut stream = server.get("a").query("replay", "none").stream();
    let update = |n: u64| notification("session/update", json!({"sessionId": "s", "update": n}));
    let lines = [update(1), response("new", json!({"sessionId": "s"})), update(2)];
    let answer = writing(&server, json!("new"), &lines).send().expect(200);
    assert_eq!(answer.text(), lines[1]);
    let received: Vec<_> = (0..3).map(|_| stream.next().data).collect();
    assert_eq!(received, lines);
}

#[test]
fn half_a_megabyte_of_notifications_after_an_answer_delays_no_client() {
    let server = server();
    let mut stream = server.get("a").query("replay", "none").stream();
    let unasked = notification("session/update", json!({"commands": "c".repeat(563_000)}));
    let lines = [response("new", json!({"sessionId": "s"})), unasked.clone()];
    assert_eq!(writing(&server, json!("new"), &lines).send().expect(200).text(), lines[0]);
    assert_eq!((stream.next().data, stream.next().data), (lines[0].clone(), unasked));
    assert_eq!(server.tell("a", "echo", json!("next")), "next");
}

#[test]
fn a_cancelled_turn_that_is_answered_late_blocks_no_other_and_reaches_its_caller() {
    let server = server();
    let prompt = server.post("a", call("prompt", "slow", json!({"ms": 1500}))).start();
    server.wait_for("a", "the turn is on", |summary| summary["pendingRequests"] == 1);
    server.post("a", notification("session/cancel", json!({"sessionId": "s"}))).send().expect_accepted();
    assert_eq!(server.tell("a", "echo", json!("meanwhile")), "meanwhile");
    assert_eq!(pending(&server), 1, "the cancelled turn must still wait for its answer");
    assert_eq!(prompt.join().unwrap().expect(200).json()["id"], "prompt");
    assert_eq!(pending(&server), 0);
}

#[test]
fn an_unanswered_agent_request_blocks_nothing() {
    let server = server();
    for id in 0..3 {
        server.tell("a", "ask", json!({"id": id, "method": "craft/drainMidTurnQueue", "params": {}}));
    }
    assert_eq!(server.tell("a", "echo", json!("on")), "on");
    assert_eq!(server.summary("a").unwrap()["awaiting"].as_array().unwrap().len(), 3);
    server.delete("a").send().expect(204);
}

#[test]
fn an_agent_that_exits_in_the_middle_of_a_line_fails_its_requests_and_the_partial_line_is_not_a_message() {
    let server = server();
    let mut stream = server.get("a").query("replay", "none").stream();
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "the request waits", |summary| summary["pendingRequests"] == 1);
    let half = r#"{"jsonrpc":"2.0","id":1,"result":{"text":"this line nev"#;
    let written = notification("raw", json!({"text": half, "answer": false}));
    server.post("a", written).send().expect_accepted();
    server.post("a", call(2, "exit", json!({"code": 9}))).send().problem(502, "agent_exited");
    waiting.join().unwrap().problem(502, "agent_exited");
    let events = stream.rest();
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["unparsed", "exit"], "{events:?}");
    assert_eq!(events[0].json()["line"], half);
}

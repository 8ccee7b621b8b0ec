//! Instances of the same agent are isolated from each other.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::{call, response};

#[test]
fn two_instances_of_one_agent_are_two_processes_with_their_own_ids_streams_and_requests() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    assert_ne!(server.summary("a").unwrap()["pid"], server.summary("b").unwrap()["pid"]);
    // The same request id may be pending on both.
    let waiting = ["a", "b"].map(|id| server.post(id, call(1, "never", json!({}))).start());
    for id in ["a", "b"] {
        server.wait_for(id, "it waits", |summary| summary["pendingRequests"] == 1);
    }
    let answer = |from: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{from}\"}}\n");
    server.tell("b", "raw", json!({"text": answer("from b")}));
    server.tell("a", "raw", json!({"text": answer("from a")}));
    let results = waiting.map(|waiter| waiter.join().unwrap().expect(200).json()["result"].clone());
    assert_eq!(results, [json!("from a"), json!("from b")]);
    // Neither stream has messages of the other agent.
    server.tell("a", "emit", json!({"count": 1, "method": "only_a"}));
    server.post("b", call("end", "echo", json!({}))).send().expect(200);
    let seen = server.stream("b").up_to(|event| event.answers(&json!("end")));
    assert!(!seen.iter().any(|event| event.data.contains("only_a") || event.data.contains("from a")));
}

#[test]
fn an_agent_that_dies_does_not_affect_other_instances() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    let waiting = server.post("b", call(1, "slow", json!({"ms": 400}))).start();
    server.post("a", call(1, "exit", json!({"code": 1}))).send().problem(502, "agent_exited");
    waiting.join().unwrap().expect(200);
    server.delete("a").send().expect(204);
    server.tell("b", "echo", json!({}));
}

#[test]
fn an_answer_reaches_the_instance_that_sent_the_request() {
    let server = Server::start();
    for id in ["a", "b"] {
        server.open(id, "fault");
        server.tell(id, "ask", json!({"id": 0, "method": "m", "params": {}}));
    }
    server.post("a", response(0, json!("for a"))).send().expect_accepted();
    assert_eq!(server.summary("b").unwrap()["awaiting"].as_array().unwrap().len(), 1);
    server.post("b", response(0, json!("for b"))).send().expect_accepted();
    let notified = server.stream("b").until(|event| event.is_call_of("asked"));
    assert!(notified.data.contains("for b"));
}

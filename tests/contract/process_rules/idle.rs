//! `--instance-idle-timeout`: an unused instance is closed.

use std::time::{Duration, Instant};

use serde_json::json;

use test_harness::rpc::{call, response};
use test_harness::{Server, eventually};

fn server() -> Server {
    let server = Server::with().flag("--instance-idle-timeout", "500ms").start();
    server.open("a", "fault");
    server
}

#[track_caller]
fn closes(server: &Server) {
    eventually("the instance is closed", || server.summary("a").is_none().then_some(()));
}

/// Waits for three timeouts and checks that the instance stays.
#[track_caller]
fn stays(server: &Server) {
    let end = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < end {
        assert_eq!(server.summary("a").map(|summary| summary["status"].clone()), Some(json!("running")));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_instance_without_readers_client_requests_and_agent_requests_is_closed_after_the_timeout() {
    let server = server();
    let agent = server.agent_process("a");
    closes(&server);
    assert!(agent.is_gone());
}

#[test]
fn a_reader_keeps_an_instance() {
    let server = server();
    let reader = server.stream("a");
    stays(&server);
    drop(reader);
    closes(&server);
}

#[test]
fn a_pending_request_keeps_an_instance() {
    let server = server();
    server
        .post("a", call(1, "slow", json!({"ms": 1800})))
        .header("Prefer", "respond-async")
        .send()
        .expect_accepted();
    stays(&server);
    closes(&server);
}

#[test]
fn an_agent_request_keeps_an_instance_until_it_is_answered() {
    let server = server();
    server.tell("a", "ask", json!({"id": 1, "method": "m", "params": {}}));
    stays(&server);
    server.post("a", response(1, json!({}))).send().expect_accepted();
    closes(&server);
}

#[test]
fn the_idle_timeout_is_off_by_default() {
    let server = Server::start();
    server.open("a", "fault");
    stays(&server);
}

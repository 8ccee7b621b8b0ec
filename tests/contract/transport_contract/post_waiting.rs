//! POST, rules 7 to 9: how long a request waits, and what ends the wait.

use std::time::Instant;

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::call;

#[test]
fn prefer_respond_async_is_202_at_once_and_the_response_is_on_the_stream() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let accepted = server.post("a", call(1, "slow", json!({"ms": 100}))).header("Prefer", "respond-async");
    let accepted = accepted.send().expect_accepted();
    assert_eq!(accepted.headers.get("preference-applied"), Some("respond-async"));
    assert!(stream.next().answers(&json!(1)));
}

#[test]
fn prefer_respond_async_reports_a_failure_on_the_stream() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let never = server.post("a", call("n", "never", json!({}))).header("Prefer", "respond-async");
    never.send().expect_accepted();
    server.post("a", call("x", "exit", json!({"code": 3}))).send().problem(502, "agent_exited");
    let failed = stream.until(|event| event.name == "failed");
    let data = failed.json();
    assert_eq!(failed.id, None);
    assert_eq!(data["id"], "n");
    assert_eq!(data["problem"]["type"], "urn:sandbox-agent:error:agent_exited");
    assert_eq!((&data["problem"]["status"], &data["problem"]["exitCode"]), (&json!(502), &json!(3)));
    assert_eq!(stream.next().name, "exit");
}

#[test]
fn prefer_wait_limits_the_wait_and_is_then_504() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let started = Instant::now();
    let slow = server.post("a", call(1, "slow", json!({"ms": 2500}))).header("Prefer", "wait=1");
    slow.send().problem(504, "request_timeout");
    assert!(started.elapsed().as_secs_f64() >= 1.0, "{:?}", started.elapsed());
    assert!(stream.next().answers(&json!(1)), "a late answer must be on the stream");
    let quick = server.post("a", call(2, "echo", json!({}))).header("Prefer", "wait=10");
    quick.send().expect(200);
}

#[test]
fn prefer_wait_with_respond_async_is_202_when_the_time_is_up_and_200_before() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let prefer = |message: String| server.post("a", message).header("Prefer", "respond-async, wait=1").send();
    assert_eq!(prefer(call(1, "echo", json!("now"))).expect(200).json()["result"], "now");
    let late = prefer(call(2, "slow", json!({"ms": 1300}))).expect_accepted();
    assert!(late.headers.get("preference-applied").is_some_and(|applied| applied.contains("respond-async")));
    stream.until(|event| event.answers(&json!(2)));
    // From then on the request is asynchronous, so its failure is also reported on the stream.
    prefer(call(3, "never", json!({}))).expect_accepted();
    server.post("a", call(4, "exit", json!({"code": 0}))).send().problem(502, "agent_exited");
    assert_eq!(stream.until(|event| event.name == "failed").json()["id"], 3);
}

#[test]
fn no_answer_within_the_request_timeout_is_504_and_a_late_answer_is_on_the_stream() {
    let server = Server::with().flag("--request-timeout", "300ms").start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    server.post("a", call(1, "slow", json!({"ms": 2000}))).send().problem(504, "request_timeout");
    assert!(stream.next().answers(&json!(1)));
}

#[test]
fn a_request_timeout_of_zero_disables_it() {
    let server = Server::with().flag("--request-timeout", "0").start();
    server.open("a", "fault");
    server.post("a", call(1, "slow", json!({"ms": 300}))).send().expect(200);
}

#[test]
fn an_agent_that_exits_fails_waiting_requests_at_once_with_its_exit_code_and_stderr_tail() {
    let server = Server::start();
    server.open("a", "fault");
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    server.tell("a", "stderr", json!({"text": "something broke\n"}));
    let other = server.post("a", call(2, "exit", json!({"code": 7}))).send();
    for response in [waiting.join().unwrap(), other] {
        let problem = response.problem(502, "agent_exited");
        assert_eq!((&problem["exitCode"], &problem["signal"]), (&json!(7), &json!(null)));
        assert_eq!(problem["stderrTail"], "something broke\n");
    }
}

#[test]
fn an_agent_killed_during_a_request_is_502_within_a_second_with_the_signal() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "stderr", json!({"text": "dying words\n"}));
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    server.agent_process("a").signal("KILL");
    let problem = waiting.join().unwrap().problem(502, "agent_exited");
    assert_eq!((&problem["signal"], &problem["exitCode"]), (&json!("SIGKILL"), &json!(null)));
    assert_eq!(problem["stderrTail"], "dying words\n");
}

#[test]
fn the_stderr_tail_is_the_last_4_kib_and_whole_characters() {
    let server = Server::start();
    server.open("a", "fault");
    let text = format!("gone {}é-end", "é".repeat(4096));
    server.tell("a", "stderr", json!({"text": text}));
    let problem = server.post("a", call(1, "exit", json!({"code": 1}))).send().problem(502, "agent_exited");
    let tail = problem["stderrTail"].as_str().unwrap();
    assert!(tail.len() <= 4096 && tail.len() > 4000, "{} bytes", tail.len());
    assert!(tail.ends_with("é-end") && !tail.contains("gone"));
    assert!(!tail.contains('\u{fffd}'), "a character was cut: {:?}", tail.chars().next());
}

#[test]
fn a_write_that_fails_is_502_with_the_reason() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "close_stdin", json!({}));
    let failed = server.post("a", call(1, "echo", json!({}))).send();
    failed.problem(502, "write_failed");
    // The agent is still running and may send messages, but nothing more can be sent to it.
    server.post("a", call(2, "echo", json!({}))).send().problem(502, "write_failed");
    assert_eq!(server.summary("a").unwrap()["status"], "running");
}

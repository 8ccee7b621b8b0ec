//! POST, rule 10: a client may repeat any POST whose answer it lost, and no message is forwarded twice.

use serde_json::{Value, json};

use test_harness::rpc::{call, notification, response};
use test_harness::{Request, Server, eventually};

fn keyed(server: &Server, key: &str, message: String) -> Request {
    server.post("a", message).header("Idempotency-Key", key)
}

/// The messages sent to the agent, according to the journal.
fn sent(server: &Server) -> Vec<Value> {
    let mut journal = server.get("a").query("view", "journal").stream();
    let mark = format!("mark-{:?}", std::time::Instant::now());
    server.post("a", call(mark.clone(), "echo", json!({}))).send().expect(200);
    journal
        .up_to(|event| event.name == "sent" && event.json()["id"] == mark)
        .into_iter()
        .filter(|event| event.name == "sent")
        .map(|event| event.json())
        .collect()
}

fn times_sent(server: &Server, id: &Value) -> usize {
    sent(server).iter().filter(|message| message["id"] == *id).count()
}

#[test]
fn a_repeat_is_not_forwarded_and_gets_the_first_answer() {
    let server = Server::start();
    server.open("a", "fault");
    let first = keyed(&server, "k", call(1, "received", json!({"n": 1}))).send().expect(200);
    let second = keyed(&server, "k", call(1, "received", json!({"n": 1}))).send().expect(200);
    assert_eq!(first.body, second.body);
    assert_eq!(times_sent(&server, &json!(1)), 1);
}

#[test]
fn a_repeat_of_a_request_that_is_still_open_waits_with_it_and_both_are_answered() {
    let server = Server::start();
    server.open("a", "fault");
    let post = || keyed(&server, "k", call(1, "slow", json!({"ms": 400}))).start();
    let first = post();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    let second = post();
    let third = post();
    let answers = [first, second, third].map(|waiter| waiter.join().unwrap().expect(200).body);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(times_sent(&server, &json!(1)), 1);
}

#[test]
fn a_repeat_gets_the_answer_even_if_the_first_caller_has_disconnected() {
    let server = Server::start();
    server.open("a", "fault");
    let prompt = keyed(&server, "k", call(1, "slow", json!({"ms": 500})));
    let connection = prompt.write();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    drop(connection);
    assert_eq!(prompt.send().expect(200).json()["id"], 1);
    assert_eq!(times_sent(&server, &json!(1)), 1);
}

#[test]
fn a_repeat_of_a_notification_is_202_and_not_forwarded_again() {
    let server = Server::start();
    server.open("a", "fault");
    for _ in 0..3 {
        keyed(&server, "k", notification("received", json!({"n": 1}))).send().expect_accepted();
    }
    let forwarded = sent(&server).iter().filter(|message| message["method"] == "received").count();
    assert_eq!(forwarded, 1);
}

#[test]
fn a_repeated_answer_to_the_agent_is_202_and_not_a_second_answer() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "ask", json!({"id": "q", "method": "question", "params": {}}));
    for _ in 0..2 {
        keyed(&server, "k", response("q", json!("yes"))).send().expect_accepted();
    }
    keyed(&server, "other", response("q", json!("no"))).send().problem(409, "already_answered");
}

#[test]
fn a_repeat_of_an_asynchronous_request_is_202_and_not_forwarded_again() {
    let server = Server::start();
    server.open("a", "fault");
    let post = || keyed(&server, "k", call(1, "never", json!({}))).header("Prefer", "respond-async");
    post().send().expect_accepted();
    post().send().expect_accepted();
    assert_eq!(times_sent(&server, &json!(1)), 1);
}

#[test]
fn a_repeat_gets_the_first_failure() {
    let server = Server::start();
    server.open("a", "fault");
    let post = || keyed(&server, "k", call(1, "exit", json!({"code": 5}))).query("agent", "fault").send();
    assert_eq!(post().problem(502, "agent_exited")["exitCode"], 5);
    // The request names the agent, so a new one would restart it; a repeat does not.
    assert_eq!(post().problem(502, "agent_exited")["exitCode"], 5);
    assert_eq!(server.summary("a").unwrap()["status"], "exited");
}

#[test]
fn a_key_with_another_body_is_422_and_nothing_is_forwarded() {
    let server = Server::start();
    server.open("a", "fault");
    keyed(&server, "k", call(1, "echo", json!(1))).send().expect(200);
    keyed(&server, "k", call(2, "echo", json!(2))).send().problem(422, "idempotency_key_reused");
    assert_eq!(times_sent(&server, &json!(2)), 0);
}

#[test]
fn keys_belong_to_one_instance() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    for id in ["a", "b"] {
        let post = server.post(id, call(1, "pid", json!({}))).header("Idempotency-Key", "k");
        let pid = post.send().expect(200).json()["result"].clone();
        assert_eq!(pid, server.summary(id).unwrap()["pid"]);
    }
}

#[test]
fn a_key_is_still_known_after_4095_others() {
    let server = Server::start();
    server.open("a", "fault");
    keyed(&server, "first", notification("echo", json!({"n": "first"}))).send().expect_accepted();
    // Sent on one connection, for speed.
    let mut connection = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut answers = std::io::BufReader::new(connection.try_clone().unwrap());
    let body = notification("echo", json!({}));
    for n in 0..4095 {
        let head = format!(
            "POST /v1/acp/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: k{n}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        std::io::Write::write_all(&mut connection, head.as_bytes()).unwrap();
        test_harness::Response::read(&mut answers).expect(202);
    }
    keyed(&server, "first", notification("echo", json!({"n": "first"}))).send().expect_accepted();
    let first = sent(&server).iter().filter(|message| message["params"]["n"] == "first").count();
    assert_eq!(first, 1);
}

#[test]
fn keys_are_remembered_over_a_restart_of_the_agent() {
    let server = Server::start();
    server.open("a", "fault");
    let first = keyed(&server, "k", call(1, "pid", json!({}))).send().expect(200);
    server.post("a", call(2, "exit", json!({}))).send().problem(502, "agent_exited");
    server.open("a", "fault");
    let again = keyed(&server, "k", call(1, "pid", json!({}))).send().expect(200);
    assert_eq!(first.body, again.body);
}

#[test]
fn an_accepted_post_finishes_when_its_client_disconnects() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let connection = server.post("a", call(1, "slow", json!({"ms": 300}))).write();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    drop(connection);
    assert!(stream.next().answers(&json!(1)));
    eventually("nothing waits", || (server.summary("a").unwrap()["pendingRequests"] == 0).then_some(()));
}

#[test]
fn an_invalid_key_is_400() {
    let server = Server::start();
    server.open("a", "fault");
    let long = "k".repeat(256);
    let refused = keyed(&server, &long, call(1, "echo", json!({}))).send();
    assert_eq!(refused.problem(400, "invalid_header")["header"], "Idempotency-Key");
}

#[test]
fn a_waiting_repeat_gets_the_answer_of_an_asynchronous_first_request() {
    let server = Server::start();
    server.open("a", "fault");
    let message = || call(1, "slow", json!({"ms": 300}));
    keyed(&server, "k", message()).header("Prefer", "respond-async").send().expect_accepted();
    assert_eq!(keyed(&server, "k", message()).send().expect(200).json()["id"], 1);
    assert_eq!(times_sent(&server, &json!(1)), 1);
}

#[test]
fn a_repeat_waits_no_longer_than_the_request_timeout() {
    let server = Server::with().flag("--request-timeout", "300ms").start();
    server.open("a", "fault");
    let message = || call(1, "never", json!({}));
    // No caller waits for the first request, and each repeat is sent when no other caller waits.
    keyed(&server, "k", message()).header("Prefer", "respond-async").send().expect_accepted();
    for _ in 0..2 {
        keyed(&server, "k", message()).send().problem(504, "request_timeout");
    }
    assert_eq!(times_sent(&server, &json!(1)), 1);
}

#[test]
fn a_refused_message_may_be_sent_again_with_its_key() {
    let server = Server::with().flag("--max-pending", "1").start();
    server.open("a", "fault");
    let open = server.post("a", call(1, "slow", json!({"ms": 300}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    keyed(&server, "k", call(2, "echo", json!({}))).send().problem(429, "too_many_pending");
    open.join().unwrap().expect(200);
    keyed(&server, "k", call(2, "echo", json!({}))).send().expect(200);
}

#[test]
fn a_message_that_waits_for_room_is_forwarded_once_even_if_its_client_repeats_it() {
    let server = Server::with().flag("--stdin-queue-bytes", "64KiB").start();
    server.open("a", "fault");
    server
        .post("a", call("s", "stall", json!({"ms": 800})))
        .header("Prefer", "respond-async")
        .send()
        .expect_accepted();
    let filler = "x".repeat(60 << 10);
    // More than a pipe holds, so that the queue is full for as long as the agent stalls.
    for n in 0..3 {
        let post = server.post("a", notification("x", json!({"n": n, "filler": filler})));
        drop(post.header("Prefer", "respond-async").start());
    }
    let large = || keyed(&server, "k", call("big", "received", json!({"filler": filler})));
    drop(large().write());
    let repeats = [large().start(), large().start()];
    for repeat in repeats {
        assert_eq!(repeat.join().unwrap().expect(200).json()["id"], "big");
    }
    assert_eq!(times_sent(&server, &json!("big")), 1);
}

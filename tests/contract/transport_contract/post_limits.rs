//! POST, rules 4 and 11: limits, and what happens when they are reached.

use std::io::BufReader;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use test_harness::rpc::{call, notification};
use test_harness::{Response, Server, eventually};

#[test]
fn a_stdin_queue_that_is_full_for_10_seconds_is_503_agent_not_reading() {
    let server = Server::with().flag("--stdin-queue-bytes", "64KiB").agent("deaf", "--never-read").start();
    let post = |n: u64| {
        let message = notification("x", json!({"n": n, "filler": "x".repeat(48 << 10)}));
        server.post("a", message).query("agent", "deaf")
    };
    // The pipe holds some messages and the queue some more; eventually one has to wait.
    let mut accepted = 0;
    let (response, waited) = loop {
        let started = Instant::now();
        let response = post(accepted).send();
        if response.status != 202 {
            break (response, started.elapsed());
        }
        accepted += 1;
        assert!(accepted < 50, "the queue is not bounded");
    };
    response.problem(503, "agent_not_reading");
    assert!(waited.as_secs_f64() >= 9.5, "{waited:?}");
    assert!(response.headers.get("retry-after").is_some());
    // The instance can still be listed and closed.
    assert_eq!(server.summary("a").unwrap()["status"], "running");
    server.delete("a").send().expect(204);
}

#[test]
fn a_full_queue_that_empties_in_time_loses_nothing_and_keeps_the_order() {
    let server = Server::with().flag("--stdin-queue-bytes", "64KiB").start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let stalled = server.post("a", call("s", "stall", json!({"ms": 700}))).start();
    server.wait_for("a", "it stalls", |summary| summary["pendingRequests"] == 1);
    let filler = "x".repeat(40 << 10);
    for n in 0..6 {
        server
            .post("a", notification("received", json!({"n": n, "filler": filler})))
            .send()
            .expect_accepted();
    }
    stalled.join().unwrap().expect(200);
    for n in 0..6 {
        let event = stream.until(|event| event.is_call_of("received"));
        let line = event.json()["params"]["line"].as_str().unwrap().to_owned();
        assert_eq!(line, notification("received", json!({"n": n, "filler": filler})));
    }
}

#[test]
fn too_many_waiting_requests_are_429_with_retry_after() {
    let server = Server::with().flag("--max-pending", "2").start();
    server.open("a", "fault");
    for n in 0..2 {
        let never = server.post("a", call(n, "never", json!({}))).header("Prefer", "respond-async");
        never.send().expect_accepted();
    }
    let refused = server.post("a", call(9, "echo", json!({}))).send();
    refused.problem(429, "too_many_pending");
    let seconds: u64 = refused.headers.get("retry-after").unwrap().parse().unwrap();
    assert!(seconds > 0);
    // Notifications are still accepted, and other instances are not affected.
    server.post("a", notification("received", json!({}))).send().expect_accepted();
    server.post("b", call(9, "echo", json!({}))).query("agent", "fault").send().expect(200);
}

#[test]
fn too_many_instances_are_429_with_retry_after_until_one_is_closed() {
    let server = Server::with().flag("--max-instances", "2").start();
    server.open("a", "fault");
    server.open("b", "fault");
    let open = || server.post("c", call(1, "echo", json!({}))).query("agent", "fault").send();
    let refused = open();
    refused.problem(429, "too_many_instances");
    assert!(refused.headers.get("retry-after").is_some());
    server.delete("a").send().expect(204);
    open().expect(200);
}

#[test]
fn over_the_memory_budget_the_oldest_events_are_evicted_and_the_newest_message_is_retained() {
    let server = Server::with().flag("--journal", "off").flag("--memory-budget", "4MiB").start();
    server.open("a", "fault");
    server.open("b", "fault");
    // Six megabytes in one instance, with a budget of four megabytes in total.
    server.tell("a", "emit", json!({"count": 6, "bytes": 1 << 20}));
    let mut stream = server.stream("a");
    let first = stream.until(|event| event.is_call_of("burst"));
    assert!(first.json()["params"]["index"].as_u64().unwrap() >= 2, "nothing was evicted");
    let last = stream.until(|event| {
        event.name == "message" && event.json()["result"].is_null() && event.json()["method"].is_null()
    });
    assert!(last.number() > first.number());
    // The events of another instance are older, so they are evicted first; its newest one stays.
    let held = server.get("b").stream().next();
    assert!(held.answers(&json!("hello")), "{held:?}");
}

#[test]
fn posts_get_503_when_the_memory_budget_is_exhausted() {
    let server = Server::with()
        .flag("--memory-budget", "4MiB")
        .flag("--stdin-queue-bytes", "64MiB")
        .agent("deaf", "--never-read")
        .start();
    let filler = "x".repeat(1 << 20);
    let post = |n: u64| {
        let message = notification("x", json!({"n": n, "filler": filler}));
        server.post("a", message).query("agent", "deaf").send()
    };
    let refused =
        (0..8).map(post).find(|response| response.status != 202).expect("the budget must be exhausted");
    refused.problem(503, "memory_budget_exhausted");
    assert!(refused.headers.get("retry-after").is_some());
    // Closing the instance that holds the memory frees it.
    server.delete("a").send().expect(204);
    server.post("b", call(1, "echo", json!({"filler": filler}))).query("agent", "fault").send().expect(200);
}

#[test]
fn a_message_larger_than_the_whole_queue_still_passes_when_the_queue_is_empty() {
    let server = Server::with().flag("--stdin-queue-bytes", "1024").start();
    server.open("a", "fault");
    let filler = "x".repeat(100_000);
    let answer = server.post("a", call(1, "echo", json!({"filler": filler}))).send().expect(200);
    assert_eq!(answer.json()["result"]["filler"], filler);
}

/// An agent that does not read, with a full queue and requests that wait for room in it.
fn crowd() -> (Server, Vec<TcpStream>) {
    let server = Server::with()
        .flag("--stdin-queue-bytes", "64KiB")
        .flag("--close-grace", "200ms")
        .flag("--terminate-grace", "200ms")
        .agent("deaf", "--never-read")
        .start();
    let post = |n: u64| {
        let message = call(n, "x", json!({"filler": "x".repeat(48 << 10)}));
        server.post("a", message).query("agent", "deaf").write()
    };
    let waiting: Vec<_> = (0..8).map(post).collect();
    // Some messages are in the pipe and in the queue. The others have arrived, but are not counted as pending
    // yet.
    server.wait_for("a", "the queue is full", |summary| summary["pendingRequests"].as_u64().unwrap() >= 2);
    eventually("all have arrived", || server.has_read_everything().then_some(()));
    (server, waiting)
}

fn answer(connection: TcpStream) -> Response {
    Response::read(&mut BufReader::new(connection))
}

#[test]
fn delete_fails_posts_that_wait_for_room_with_instance_closed() {
    let (server, waiting) = crowd();
    server.delete("a").send().expect(204);
    for waiter in waiting {
        answer(waiter).problem(502, "instance_closed");
    }
}

#[test]
fn an_agent_that_dies_fails_posts_that_wait_for_room_at_once() {
    let (server, waiting) = crowd();
    server.agent_process("a").signal("KILL");
    for waiter in waiting {
        answer(waiter).problem(502, "agent_exited");
    }
}

#[test]
fn sigterm_fails_posts_that_wait_for_room_with_server_stopping() {
    let (mut server, waiting) = crowd();
    server.process.signal("TERM");
    for waiter in waiting {
        answer(waiter).problem(503, "server_stopping");
    }
    assert_eq!(server.wait_for_end(Duration::from_secs(10)).code(), Some(0));
}

#[test]
fn refused_interrupted_repeated_and_closed_messages_release_their_memory() {
    let server = Server::with().flag("--memory-budget", "8MiB").start();
    let filler = "x".repeat(1 << 20);
    let message = |id: u64, method: &str| call(id, method, json!({"filler": filler}));
    for round in 0..12 {
        let id = format!("i{round}");
        server.open(&id, "fault");
        server
            .post(&id, call(1, "never", json!({})))
            .header("Prefer", "respond-async")
            .send()
            .expect_accepted();
        server.post(&id, message(1, "echo")).send().problem(409, "duplicate_request_id");
        server.post(&id, format!("{} trailing", message(2, "echo"))).send().problem(400, "invalid_json");
        for _ in 0..2 {
            server.post(&id, message(3, "echo")).header("Idempotency-Key", "k").send().expect(200);
        }
        let body = message(4, "echo");
        let head =
            server.request("POST", &test_harness::rpc::path(&id)).header("Content-Type", "application/json");
        let mut cut = head.header("Content-Length", &body.len().to_string()).write();
        let _ = std::io::Write::write_all(&mut cut, &body.as_bytes()[..body.len() / 2]);
        drop(cut);
        server.delete(&id).send().expect(204);
    }
    // Five megabytes fit at once only if all earlier memory was released.
    server.open("end", "fault");
    let large = call(1, "echo", json!("x".repeat(3 << 20)));
    server.post("end", large).send().expect(200);
}

#[test]
fn opening_and_closing_instances_leaks_no_descriptors() {
    let server = Server::with().under("prlimit", &["--nofile=64"]).start();
    for round in 0..40 {
        let id = format!("i{}", round % 3);
        server.open(&id, "fault");
        drop(server.stream(&id));
        server.delete(&id).send().expect(204);
    }
}

#[test]
fn running_out_of_descriptors_is_only_temporary() {
    let server = Server::with().under("prlimit", &["--nofile=64"]).start();
    let mut opened = 0;
    let refused = loop {
        let post =
            server.post(&format!("i{opened}"), call(1, "echo", json!({}))).query("agent", "fault").send();
        if post.status != 200 {
            break post;
        }
        opened += 1;
        assert!(opened < 64, "each agent must use descriptors");
    };
    refused.problem(502, "spawn_failed");
    for n in 0..opened {
        server.delete(&format!("i{n}")).send().expect(204);
    }
    server.open("again", "fault");
}

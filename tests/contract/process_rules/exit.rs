//! The exit of an agent, and its restart.

use std::time::Instant;

use serde_json::json;

use test_harness::rpc::{call, notification, response};
use test_harness::{Process, Server, eventually};

fn exited(code: u64) -> Server {
    let server = Server::start();
    server.open("a", "fault");
    server.post("a", call("x", "exit", json!({"code": code}))).send().problem(502, "agent_exited");
    server
}

#[test]
fn an_exited_instance_answers_502_agent_exited_until_a_request_names_the_agent() {
    let server = exited(3);
    for _ in 0..2 {
        let refused = server.post("a", call(1, "echo", json!({}))).send().problem(502, "agent_exited");
        assert_eq!(refused["exitCode"], 3);
    }
    // Only a request restarts the agent, even with ?agent=.
    server
        .post("a", notification("x", json!({})))
        .query("agent", "fault")
        .send()
        .problem(502, "agent_exited");
    server.post("a", response("q", json!({}))).query("agent", "fault").send().problem(502, "agent_exited");
    server.post("a", call(1, "echo", json!({}))).query("agent", "mock").send().problem(409, "agent_mismatch");
    assert_eq!(server.summary("a").unwrap()["status"], "exited");
    server.post("a", call(1, "echo", json!("again"))).query("agent", "fault").send().expect(200);
    assert_eq!(server.summary("a").unwrap()["status"], "running");
}

#[test]
fn numbers_continue_over_a_restart_and_earlier_events_are_retained() {
    let server = exited(3);
    let past = server.stream("a").rest();
    let exit = past.last().unwrap();
    server.open("a", "fault");
    let mut stream = server.stream("a");
    for event in &past {
        assert_eq!(stream.next(), *event);
    }
    let next = stream.next();
    assert!(next.answers(&json!("hello")) && next.number() == exit.number() + 1);
    // A reader that has seen the exit continues right after it.
    let mut resumed = server.get("a").header("Last-Event-ID", &exit.number().to_string()).stream();
    assert_eq!(resumed.next(), next);
}

#[test]
fn two_concurrent_restarting_requests_start_one_process() {
    let server = exited(0);
    let racers: Vec<_> = (0..16)
        .map(|n| server.post("a", call(n, "pid", json!({}))).query("agent", "fault").start())
        .collect();
    let mut pids: Vec<_> =
        racers.into_iter().map(|racer| racer.join().unwrap().expect(200).json()["result"].as_u64()).collect();
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
}

#[test]
fn requests_of_an_exited_process_cannot_be_answered() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "ask", json!({"id": 0, "method": "m", "params": {}}));
    server.post("a", call("x", "exit", json!({}))).send().problem(502, "agent_exited");
    assert_eq!(server.summary("a").unwrap()["awaiting"], json!([]));
    server.open("a", "fault");
    // The new process never sent the request, so the response is forwarded like any other.
    server.post("a", response(0, json!({}))).send().expect_accepted();
}

#[test]
fn a_last_response_written_just_before_exit_is_delivered() {
    let server = Server::start();
    for n in 0..20 {
        let post = server.post("a", call(n, "exit_after_answer", json!({"code": 9}))).query("agent", "fault");
        assert_eq!(post.send().expect(200).json()["result"], "last words");
        server.wait_for("a", "it has exited", |summary| summary["status"] == "exited");
    }
}

#[test]
fn a_large_last_output_is_drained_before_the_exit_event() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    server.tell("a", "emit", json!({"count": 200, "bytes": 10_000}));
    server.post("a", call("x", "exit", json!({}))).send().problem(502, "agent_exited");
    let events = stream.rest();
    assert_eq!(events.iter().filter(|event| event.is_call_of("burst")).count(), 200);
    assert_eq!(events.last().unwrap().name, "exit");
}

#[test]
fn an_exit_with_stdout_held_open_by_a_daemon_is_reported_after_300_ms() {
    let server = Server::start();
    server.open("a", "fault");
    let daemon = server.spawn("a", "spawn_daemon", json!({"keepsStdout": true}));
    let started = Instant::now();
    server.post("a", call(1, "exit", json!({"code": 2}))).send().problem(502, "agent_exited");
    assert!(started.elapsed().as_secs_f64() >= 0.25, "{:?}", started.elapsed());
    daemon.wait_until_gone();
}

#[test]
fn a_closed_stdout_without_exit_ends_the_instance_after_a_second() {
    let server = Server::with().agent("stubborn", "--ignore-eof").start();
    server.open("a", "stubborn");
    let agent = server.agent_process("a");
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    let started = Instant::now();
    server.tell("a", "close_stdout", json!({}));
    waiting.join().unwrap().problem(502, "agent_exited");
    assert!(started.elapsed().as_secs_f64() >= 0.9, "{:?}", started.elapsed());
    agent.wait_until_gone();
    assert_eq!(server.summary("a").unwrap()["status"], "exited");
}

#[test]
fn an_agent_that_exits_at_once_is_502_with_its_stderr() {
    let server = Server::with().agent("brief", "--exit-at-start 42").start();
    let problem = server
        .post("a", call(1, "echo", json!({})))
        .query("agent", "brief")
        .send()
        .problem(502, "agent_exited");
    assert_eq!(problem["exitCode"], 42);
    assert!(problem["stderrTail"].as_str().unwrap().contains("last words before exit 42"), "{problem}");
}

#[test]
fn stderr_never_reaches_a_stream_but_is_logged() {
    let server = Server::with().flag("--log", "debug").start();
    server.open("a", "fault");
    server.tell("a", "stderr", json!({"text": "only for the log\n"}));
    server.post("a", call("x", "exit", json!({}))).send().problem(502, "agent_exited");
    for view in ["messages", "journal"] {
        let events = server.get("a").query("view", view).stream().rest();
        let reported = events.iter().filter(|event| !["exit", "sent"].contains(&event.name.as_str()));
        assert_eq!(reported.filter(|event| event.data.contains("only for the log")).count(), 0);
    }
    // The log is written by a thread of its own.
    eventually("the line is in the log", || server.log().contains("only for the log").then_some(()));
}

#[test]
fn a_restart_waits_until_all_descendants_of_the_old_process_are_gone() {
    let server = Server::start();
    server.open("a", "fault");
    let daemon: Process = server.spawn("a", "spawn_daemon", json!({"deaf": true}));
    server.post("a", call("x", "exit", json!({}))).send().problem(502, "agent_exited");
    server.open("a", "fault");
    assert!(daemon.is_gone(), "the new process runs while a daemon of the old one is alive");
}

#[test]
fn a_failed_restart_is_502_keeps_earlier_events_and_the_next_request_tries_again() {
    let builder = Server::with();
    let script = format!("#!/bin/sh\nexec '{}'\n", test_harness::server::fault_agent().display());
    let program = builder.file("agent.sh", &script);
    let allow = || {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
    };
    allow();
    let server = builder.flag("--agent", &format!("frail={}", program.display())).start();
    server.open("a", "frail");
    server.post("a", call("x", "exit", json!({}))).send().problem(502, "agent_exited");
    let past = server.stream("a").rest().len();
    std::fs::remove_file(&program).unwrap();
    let post = || server.post("a", call(1, "echo", json!({}))).query("agent", "frail").send();
    post().problem(502, "spawn_failed");
    assert!(server.stream("a").rest().len() >= past, "earlier events were lost");
    std::fs::write(&program, &script).unwrap();
    allow();
    post().expect(200);
}

#[test]
fn an_agent_starts_with_no_signal_blocked_or_ignored() {
    let server = Server::with().flag("--agent", "status=cat /proc/self/status").start();
    server.post("a", call(1, "x", json!({}))).query("agent", "status").send().problem(502, "agent_exited");
    let lines: Vec<_> = server
        .stream("a")
        .rest()
        .into_iter()
        .filter(|event| event.name == "unparsed")
        .map(|event| event.json()["line"].as_str().unwrap().to_owned())
        .collect();
    for name in ["SigBlk:", "SigIgn:"] {
        let line = lines.iter().find(|line| line.starts_with(name)).unwrap();
        let mask = u64::from_str_radix(line[name.len()..].trim(), 16).unwrap();
        // Signals 32 and 33 belong to the C library, which ignores them in its children.
        assert_eq!(mask & 0x7fff_ffff, 0, "{line}");
    }
}

#[test]
fn a_request_right_after_an_exit_is_never_lost() {
    let server = Server::start();
    let port = server.port;
    let clients: Vec<_> = (0..8)
        .map(|client| {
            std::thread::spawn(move || {
                let target = format!("/v1/acp/i{client}?agent=fault");
                let post = |message: String| {
                    let request = test_harness::Request::new(port, "POST", &target).body(message);
                    request.header("Prefer", "wait=10").send()
                };
                for round in 0..25 {
                    post(call(round, "echo", json!({}))).expect(200);
                    post(call("x", "exit", json!({}))).problem(502, "agent_exited");
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}

//! DELETE: closing an instance.

use std::time::Instant;

use serde_json::json;

use test_harness::installs::{Depot, Download};
use test_harness::rpc::{call, notification};
use test_harness::{Server, eventually};

#[test]
fn delete_is_204_even_for_an_unknown_id_and_when_repeated() {
    let server = Server::start();
    server.delete("nobody").send().expect(204);
    server.open("a", "fault");
    let gone = server.delete("a").send().expect(204);
    assert_eq!(gone.body, b"");
    server.delete("a").send().expect(204);
    server.get("a").send().problem(404, "unknown_server");
    server.post("a", call(1, "echo", json!({}))).send().problem(400, "agent_required");
}

#[test]
fn delete_answers_when_the_whole_process_tree_is_gone() {
    let server = Server::start();
    server.open("a", "fault");
    let agent = server.agent_process("a");
    let supervisor = agent.parent();
    let child = server.spawn("a", "spawn_child", json!({}));
    let daemon = server.spawn("a", "spawn_daemon", json!({}));
    server.delete("a").send().expect(204);
    for (name, process) in [("agent", agent), ("child", child), ("daemon", daemon)] {
        assert!(process.is_gone(), "the {name} is still there");
    }
    supervisor.wait_until_gone();
    assert_eq!(server.process.descendants(), []);
}

#[test]
fn an_agent_that_exits_when_its_stdin_closes_is_gone_at_once() {
    let server = Server::start();
    server.open("a", "fault");
    server.delete("a").send().expect(204);
}

#[test]
fn an_agent_that_ignores_the_end_of_its_input_gets_sigterm_after_two_seconds() {
    let server = Server::with().agent("stubborn", "--ignore-eof").start();
    server.open("a", "stubborn");
    let started = Instant::now();
    server.delete("a").send().expect(204);
    assert!(started.elapsed().as_secs_f64() >= 1.8, "{:?}", started.elapsed());
}

#[test]
fn an_agent_that_ignores_sigterm_is_gone_in_under_six_seconds() {
    let server = Server::with().agent("immortal", "--ignore-eof --ignore-term").start();
    server.open("a", "immortal");
    let agent = server.agent_process("a");
    let daemon = server.spawn("a", "spawn_daemon", json!({"deaf": true}));
    let started = Instant::now();
    server.delete("a").send().expect(204);
    assert!(started.elapsed().as_secs_f64() >= 4.8, "{:?}", started.elapsed());
    assert!(agent.is_gone() && daemon.is_gone());
}

#[test]
fn delete_fails_waiting_requests_with_instance_closed_and_ends_streams() {
    let server = Server::start();
    server.open("a", "fault");
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    let mut stream = server.stream("a");
    server.delete("a").send().expect(204);
    waiting.join().unwrap().problem(502, "instance_closed");
    let events = stream.rest();
    assert_eq!(events.last().unwrap().json()["error"], "closed");
}

#[test]
fn while_an_instance_is_closing_a_second_delete_waits_and_post_and_get_are_409() {
    let server = Server::with()
        .flag("--terminate-grace", "700ms")
        .flag("--close-grace", "500ms")
        .agent("stubborn", "--ignore-eof --ignore-term")
        .start();
    server.open("a", "stubborn");
    let agent = server.agent_process("a");
    let first = server.delete("a").start();
    server.wait_for("a", "it closes", |summary| summary["status"] == "closing");
    let second = server.delete("a").start();
    server.post("a", call(1, "echo", json!({}))).send().problem(409, "instance_closing");
    server
        .post("a", call(2, "echo", json!({})))
        .query("agent", "stubborn")
        .send()
        .problem(409, "instance_closing");
    server.post("a", notification("x", json!({}))).send().problem(409, "instance_closing");
    server.get("a").send().problem(409, "instance_closing");
    assert!(!second.is_finished() && agent.is_alive());
    first.join().unwrap().expect(204);
    second.join().unwrap().expect(204);
    assert!(agent.is_gone());
    // The id can be reused.
    server.open("a", "fault");
}

#[test]
fn delete_during_starting_releases_the_instance_but_does_not_abort_a_shared_install() {
    let depot = Depot::open();
    let server = Server::with().registry(&depot.registry).start();
    let post = |id: &str| server.post(id, call(1, "echo", json!("hello"))).query("agent", "lazy").start();
    let (first, other) = (post("a"), post("b"));
    depot.wait_for_download();
    server.wait_for("b", "it waits too", |summary| summary["pendingRequests"] == 1);
    let mut stream = server.stream("a");
    server.delete("a").send().expect(204);
    first.join().unwrap().problem(502, "instance_closed");
    assert_eq!(stream.until(|event| event.name == "exit").json()["error"], "closed");
    assert_eq!(server.summary("a"), None);
    depot.release(Download::Works);
    assert_eq!(other.join().unwrap().expect(200).json()["result"], "hello");
    assert_eq!(server.summary("a"), None, "a process was started for a released instance");
    assert_eq!(depot.further_downloads(), 0);
}

#[test]
fn a_delete_finishes_when_its_client_disconnects() {
    let server = Server::with().agent("stubborn", "--ignore-eof").start();
    server.open("a", "stubborn");
    let agent = server.agent_process("a");
    let connection = server.delete("a").write();
    server.wait_for("a", "it closes", |summary| summary["status"] == "closing");
    drop(connection);
    agent.wait_until_gone();
    eventually("the instance is gone", || server.summary("a").is_none().then_some(()));
}

#[test]
fn delete_of_an_exited_instance_discards_its_events() {
    let server = Server::start();
    server.open("a", "fault");
    server.post("a", call(1, "exit", json!({}))).send().problem(502, "agent_exited");
    server.delete("a").send().expect(204);
    server.get("a").send().problem(404, "unknown_server");
    // Another agent may use the id now.
    server.open("a", "mock");
}

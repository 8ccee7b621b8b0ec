//! Agents that attack their supervisor. With `--agent-confinement off`, they can do so on every kernel.

use serde_json::json;

use test_harness::rpc::call;
use test_harness::{Process, Server, eventually};

const SIGKILL: i32 = 9;
const SIGSTOP: i32 = 19;

fn unconfined() -> Server {
    Server::with().flag("--agent-confinement", "off").start()
}

fn attack(server: &Server, supervisor: Process, signal: i32) {
    let sent = server.post("a", call("x", "signal", json!({"pid": supervisor.pid, "signal": signal})));
    sent.header("Prefer", "respond-async").send().expect_accepted();
}

/// Daemons that have left the agent's session, group and parent.
fn daemons(server: &Server) -> Vec<Process> {
    vec![
        server.spawn("a", "spawn_daemon", json!({})),
        server.spawn("a", "spawn_daemon", json!({"deaf": true})),
        server.spawn("a", "spawn_child", json!({})),
        server.agent_process("a"),
    ]
}

#[track_caller]
fn nothing_is_left(server: &Server) {
    eventually("nothing is left, not even a zombie", || {
        server.process.descendants().is_empty().then_some(())
    });
}

#[test]
fn nothing_survives_an_agent_that_kills_its_supervisor() {
    let server = unconfined();
    server.open("a", "fault");
    let tree = daemons(&server);
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    attack(&server, tree[3].parent(), SIGKILL);
    waiting.join().unwrap().problem(502, "agent_exited");
    tree.into_iter().for_each(Process::wait_until_gone);
    nothing_is_left(&server);
    // The server still works, and the id can be used again.
    server.open("a", "fault");
    server.delete("a").send().expect(204);
    nothing_is_left(&server);
}

#[test]
fn other_instances_are_untouched_when_a_supervisor_dies() {
    let server = unconfined();
    for id in ["a", "b", "c"] {
        server.open(id, "fault");
    }
    let others =
        [server.agent_process("b"), server.spawn("b", "spawn_daemon", json!({})), server.agent_process("c")];
    let tree = daemons(&server);
    attack(&server, tree[3].parent(), SIGKILL);
    // Supervisors that start in the meantime are not mistaken for orphans.
    let starting: Vec<_> = (0..8)
        .map(|n| server.post(&format!("new{n}"), call(1, "echo", json!({}))).query("agent", "fault").start())
        .collect();
    starting.into_iter().for_each(|post| drop(post.join().unwrap().expect(200)));
    tree.into_iter().for_each(Process::wait_until_gone);
    assert!(others.iter().all(|process| process.is_alive()));
    assert_eq!(server.tell("b", "echo", json!("still here")), json!("still here"));
}

#[test]
fn delete_ends_an_agent_that_has_killed_its_supervisor() {
    let server = unconfined();
    server.open("a", "fault");
    let tree = daemons(&server);
    attack(&server, tree[3].parent(), SIGKILL);
    server.delete("a").send().expect(204);
    assert!(tree.iter().all(|process| process.is_gone()), "something outlived its instance");
    nothing_is_left(&server);
}

#[test]
fn sigterm_of_the_server_ends_what_a_killed_supervisor_left() {
    let mut server = unconfined();
    server.open("a", "fault");
    let tree = daemons(&server);
    attack(&server, tree[3].parent(), SIGKILL);
    server.process.signal("TERM");
    assert_eq!(server.wait_for_end(std::time::Duration::from_secs(10)).code(), Some(0));
    tree.into_iter().for_each(Process::wait_until_gone);
}

/// Starts a process that stops the supervisor again and again. Without it, one SIGCONT would be enough.
fn stop_without_end(server: &Server, supervisor: Process) {
    let pid = supervisor.pid;
    for _ in 0..4 {
        let started = server.tell("a", "spawn_daemon", json!({"deaf": true, "stops": pid}));
        assert!(started["pid"].is_u64());
    }
    eventually("the supervisor is stopped", || supervisor.is_stopped().then_some(()));
}

#[test]
fn delete_ends_an_agent_that_stops_its_supervisor_again_and_again() {
    let server = Server::with()
        .flag("--agent-confinement", "off")
        .agent("immortal", "--ignore-eof --ignore-term")
        .flag("--close-grace", "200ms")
        .flag("--terminate-grace", "200ms")
        .start();
    server.open("a", "immortal");
    let tree = daemons(&server);
    let supervisor = tree[3].parent();
    stop_without_end(&server, supervisor);
    server.delete("a").send().expect(204);
    assert!(tree.iter().all(|process| process.is_gone()), "something outlived its instance");
    supervisor.wait_until_gone();
    nothing_is_left(&server);
}

#[test]
fn an_agent_that_exits_while_its_supervisor_is_stopped_is_seen_to_exit() {
    let server = unconfined();
    server.open("a", "fault");
    let tree = daemons(&server);
    attack(&server, tree[3].parent(), SIGSTOP);
    eventually("the supervisor is stopped", || tree[3].parent().is_stopped().then_some(()));
    let exit = server.post("a", call("exit", "exit", json!({"code": 3}))).send().problem(502, "agent_exited");
    assert_eq!(exit["exitCode"], 3);
    tree.into_iter().for_each(Process::wait_until_gone);
}

//! DELETE when a process of the agent cannot be killed, because it runs as root and the server as another user. The
//! agent starts it through a set-user-ID program, as with sudo.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use test_harness::rpc::call;
use test_harness::server::fault_agent;
use test_harness::{Process, Server, eventually};

const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

#[track_caller]
fn as_root(program: &str, arguments: &[&str]) {
    let mut command = if is_root() { Command::new(program) } else { Command::new("sudo") };
    if !is_root() {
        command.arg(program);
    }
    assert!(command.args(arguments).status().is_ok_and(|status| status.success()), "{program} {arguments:?}");
}

/// A server with short grace periods and the agent `rooted`, which starts a process that runs as root.
fn server() -> Server {
    let script = "\"$1\" --reuid 0 --regid 0 --clear-groups sleep 120 <&- >/dev/null 2>&1 & exec \"$2\"\n";
    let builder = Server::with();
    let script = builder.file("rooted.sh", script).display().to_string();
    let become_root = builder.file("become-root", "").display().to_string();
    let original = Path::new("/usr/bin/setpriv").canonicalize().unwrap().display().to_string();
    as_root("cp", &[&original, &become_root]);
    as_root("chown", &["root", &become_root]);
    as_root("chmod", &["4755", &become_root]);
    let command = format!("rooted=sh '{script}' '{become_root}' '{}'", fault_agent().display());
    let builder = builder
        .flag("--agent-confinement", "off")
        .flag("--close-grace", "200ms")
        .flag("--terminate-grace", "200ms")
        .flag("--agent", &command);
    if is_root() { builder.user(NOBODY).start() } else { builder.start() }
}

/// The agent's process that runs as root.
fn process_of_root(server: &Server) -> RootProcess {
    let agent = server.agent_process("a");
    let is_roots = |process: &Process| {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
        let owner = std::fs::metadata(format!("/proc/{}", process.pid)).map(|folder| folder.uid());
        name.trim() == "sleep" && owner.is_ok_and(|owner| owner == 0)
    };
    RootProcess(eventually("there is a process of root", || agent.descendants().into_iter().find(is_roots)))
}

/// A process that runs as root. It is killed when the test ends, even if the test fails.
struct RootProcess(Process);

impl RootProcess {
    fn end(&self) {
        as_root("kill", &["-s", "KILL", &self.0.pid.to_string()]);
    }
}

impl Drop for RootProcess {
    fn drop(&mut self) {
        if self.0.is_alive() {
            self.end();
        }
    }
}

fn status(server: &Server) -> Value {
    server.summary("a").map_or(Value::Null, |summary| summary["status"].clone())
}

#[track_caller]
fn delete_answers_still_running(server: &Server, process: &RootProcess) {
    let problem = server.delete("a").send().problem(504, "still_running");
    assert_eq!(problem["pids"], json!([process.0.pid]), "{problem}");
    assert_eq!(status(server), "closing");
}

#[track_caller]
fn the_end_comes_with_the_process(server: &Server, process: &RootProcess) {
    process.end();
    eventually("the instance is gone", || server.summary("a").is_none().then_some(()));
    eventually("nothing is left", || server.process.descendants().is_empty().then_some(()));
    server.delete("a").send().expect(204);
    server.open("a", "fault");
}

#[test]
fn a_process_that_cannot_be_killed_is_504_still_running_and_the_instance_stays_closing_until_it_ends() {
    let server = server();
    server.open("a", "rooted");
    let process = process_of_root(&server);
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    let mut stream = server.stream("a");
    delete_answers_still_running(&server, &process);
    waiting.join().unwrap().problem(502, "instance_closed");
    server.post("a", call(2, "echo", json!({}))).send().problem(409, "instance_closing");
    // Another DELETE waits again, and other instances are not affected.
    delete_answers_still_running(&server, &process);
    server.open("b", "fault");
    server.delete("b").send().expect(204);
    the_end_comes_with_the_process(&server, &process);
    assert_eq!(stream.rest().last().unwrap().json()["error"], "closed");
}

#[test]
fn a_process_left_by_an_exited_agent_prevents_its_restart_and_deletion() {
    let server = server();
    server.open("a", "rooted");
    let process = process_of_root(&server);
    server.post("a", call("x", "exit", json!({"code": 3}))).send().problem(502, "agent_exited");
    assert_eq!(status(&server), "exited");
    let again = server.post("a", call(1, "echo", json!({}))).query("agent", "rooted").send();
    let problem = again.problem(502, "spawn_failed");
    assert!(problem["detail"].as_str().unwrap().contains(&process.0.pid.to_string()), "{problem}");
    delete_answers_still_running(&server, &process);
    the_end_comes_with_the_process(&server, &process);
}

#[test]
fn a_process_that_a_killed_supervisor_left_is_adopted_and_reported() {
    let server = server();
    server.open("a", "rooted");
    let process = process_of_root(&server);
    server.agent_process("a").parent().signal("KILL");
    delete_answers_still_running(&server, &process);
    assert_eq!(process.0.parent(), server.process);
    the_end_comes_with_the_process(&server, &process);
}

#[test]
fn sigterm_ends_the_server_although_a_process_cannot_be_killed() {
    let mut server = server();
    server.open("a", "rooted");
    let process = process_of_root(&server);
    let supervisor = server.agent_process("a").parent();
    server.process.signal("TERM");
    assert_eq!(server.wait_for_end(std::time::Duration::from_secs(20)).code(), Some(0));
    assert!(process.0.is_alive());
    process.end();
    supervisor.wait_until_gone();
}

//! Agents can signal only their own processes, if the kernel can enforce that.

use serde_json::{Value, json};

use test_harness::server::{ServerBuilder, fault_agent};
use test_harness::{Process, Server, eventually};

/// The error number of a signal that the kernel refuses.
const EPERM: u64 = 1;
const NOBODY: u32 = 65534;
/// The signal number with which the kernel only checks whether a signal could be sent.
const PROBE: i32 = 0;
const SIGKILL: i32 = 9;

/// Whether this kernel can confine signals, according to the server's log. A test in `process-supervisor` checks
/// that the server is right.
fn kernel_scopes_signals(server: &Server) -> bool {
    eventually("the log has a line about confinement", || {
        let log = server.log();
        let count = |text: &str| log.matches(text).count();
        match (
            count("agents can send signals only to their own"),
            count("this kernel cannot keep agents from"),
        ) {
            (0, 0) => None,
            (1, 0) => Some(true),
            (0, 1) => Some(false),
            _ => panic!("{log}"),
        }
    })
}

/// Starts a server without privileges, even if root runs the tests.
fn start(builder: ServerBuilder) -> Server {
    if rustix::process::getuid().is_root() { builder.user(NOBODY).start() } else { builder.start() }
}

/// Makes an agent send a signal. Returns the error number, or null.
fn signal(server: &Server, server_id: &str, to: Process, signal: i32) -> Value {
    server.tell(server_id, "signal", json!({"pid": to.pid, "signal": signal}))
}

/// One line of `/proc/self/status` as the agent sees it.
fn status(server: &Server, name: &str) -> String {
    let status = server.tell("a", "read", json!({"path": "/proc/self/status"}));
    let lines = status["text"].as_str().unwrap().lines();
    lines.filter_map(|line| line.strip_prefix(name)).next().unwrap().trim().to_owned()
}

#[test]
fn an_agent_can_signal_its_own_processes_but_not_its_supervisor_the_server_or_other_agents() {
    let server = start(Server::with());
    server.open("a", "fault");
    server.open("b", "fault");
    let (agent, other) = (server.agent_process("a"), server.agent_process("b"));
    let expected = if kernel_scopes_signals(&server) { json!(EPERM) } else { Value::Null };
    for stranger in [agent.parent(), server.process, other, other.parent()] {
        assert_eq!(signal(&server, "a", stranger, PROBE), expected);
    }
    for own in ["spawn_child", "spawn_daemon"] {
        let own = server.spawn("a", own, json!({}));
        assert_eq!(signal(&server, "a", own, SIGKILL), Value::Null);
        eventually("its own process has ended", || (!own.is_alive()).then_some(()));
    }
    server.delete("a").send().expect(204);
}

#[test]
fn an_agent_may_signal_every_process_only_if_a_setting_allows_it() {
    let builder = Server::with();
    let config = builder.file("config.toml", "agent_confinement = \"off\"\n").display().to_string();
    let in_file = builder.env("SANDBOX_AGENT_CONFIG", &config);
    let variable = "SANDBOX_AGENT_AGENT_CONFINEMENT";
    let by_variable = Server::with().env(variable, "off");
    let by_flag = Server::with().env(variable, "signals").flag("--agent-confinement", "off");
    for server in [in_file, by_variable, by_flag].map(start) {
        server.open("a", "fault");
        let supervisor = server.agent_process("a").parent();
        assert_eq!(signal(&server, "a", supervisor, PROBE), Value::Null);
    }
}

/// With confinement, an agent without privileges cannot gain any; without it, sudo works.
#[test]
fn a_confined_agent_gains_no_privileges_and_an_unconfined_one_may() {
    let off = start(Server::with().flag("--agent-confinement", "off"));
    off.open("a", "fault");
    let inherited = status(&off, "NoNewPrivs:");
    let confined = start(Server::with());
    confined.open("a", "fault");
    let expected = if kernel_scopes_signals(&confined) { "1".to_owned() } else { inherited };
    assert_eq!(status(&confined, "NoNewPrivs:"), expected);
}

#[test]
fn a_confined_agent_cannot_read_the_environment_of_other_agents() {
    let server = start(Server::with());
    server.open("a", "fault");
    server.open("b", "fault");
    let other = server.agent_process("b").pid;
    let read = server.tell("a", "read", json!({"path": format!("/proc/{other}/environ")}));
    assert_eq!(read["error"].is_string(), kernel_scopes_signals(&server), "{read}");
    let own = server.tell("a", "read", json!({"path": "/proc/self/environ"}));
    assert!(own["text"].as_str().unwrap().contains("HOME="));
}

#[test]
fn an_agent_that_is_only_probed_is_confined_too() {
    let script = "if kill -s 0 $PPID 2>&-; then echo can; else echo cannot; fi >\"$1\"; exec \"$2\"\n";
    let builder = Server::with();
    let script = builder.file("probed.sh", script);
    let result = script.with_file_name("result");
    let command =
        format!("probed=sh '{}' '{}' '{}'", script.display(), result.display(), fault_agent().display());
    let server = start(builder.flag("--agent", &command));
    server.request("GET", "/v1/agents/probed?config=true").send();
    let expected = if kernel_scopes_signals(&server) { "cannot" } else { "can" };
    assert_eq!(std::fs::read_to_string(result).unwrap().trim(), expected);
}

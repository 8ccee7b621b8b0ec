//! The server as process 1 of a container with only the binary and an agent.

use std::process::Command;

use serde_json::json;

use super::root::{Inside, Root, Start};
use test_harness::{Process, eventually};

/// Process 1, as seen from outside: the child of the program that created its namespace.
fn first_process(server: &Inside) -> Process {
    let outside = server.process();
    let family = outside.descendants();
    *family.iter().find(|process| outside.is_parent_of(**process)).expect("there is a process 1")
}

#[test]
fn a_prompt_is_answered_and_sigterm_ends_everything_with_0() {
    let root = Root::bare();
    let mut server = root.serve(Start::AsFirstProcess);
    assert_eq!(server.tell("a", "echo", json!(["hello"])), json!(["hello"]));
    server.spawn_daemon("a");
    let first = first_process(&server);
    let family = first.descendants();
    first.signal("TERM");
    assert_eq!(server.wait_for_end().code(), Some(0));
    assert!(family.iter().all(|process| process.is_gone()));
}

#[test]
fn sigint_stops_the_server_too() {
    let root = Root::bare();
    let mut server = root.serve(Start::AsFirstProcess);
    first_process(&server).signal("INT");
    assert_eq!(server.wait_for_end().code(), Some(0));
}

/// Runs a script in the process namespace of this process, as `docker exec` does. Returns the process that it leaves.
fn exec_and_leave(first: Process) -> Process {
    let user: &[&str] =
        if rustix::process::getuid().is_root() { &[] } else { &["--user", "--preserve-credentials"] };
    let mut command = Command::new("nsenter");
    command.args(["--target", &first.pid.to_string(), "--pid"]).args(user);
    let done = command.args(["sh", "-c", "sleep 300 <&- >&- 2>&- &"]).status();
    assert!(done.is_ok_and(|status| status.success()), "nsenter failed");
    eventually("process 1 adopts what is left", || {
        first.descendants().into_iter().find(|process| {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
            first.is_parent_of(*process) && name.trim() == "sleep"
        })
    })
}

#[test]
fn orphans_of_process_1_are_reaped() {
    let root = Root::bare();
    let server = root.serve(Start::AsFirstProcess);
    let first = first_process(&server);
    let orphan = exec_and_leave(first);
    orphan.signal("KILL");
    orphan.wait_until_gone();
    server.request("GET", "/v1/health").send().expect(200);
}

/// Without `/proc`, which this root does not have either.
#[test]
fn the_server_ends_what_a_killed_supervisor_left() {
    let root = Root::bare();
    let server = root.serve(Start::AsFirstProcess);
    let daemon = server.spawn_daemon("a");
    let supervisor = daemon.parent();
    supervisor.signal("KILL");
    daemon.wait_until_gone();
    supervisor.wait_until_gone();
    eventually("no zombie is left", || {
        (!first_process(&server).descendants().iter().any(|one| one.is_zombie())).then_some(())
    });
    server.request("GET", "/v1/health").send().expect(200);
}

#[test]
fn process_1_exits_with_the_code_of_the_program() {
    let root = Root::bare();
    let code = |arguments: &[&str]| {
        let mut command = root.command(Start::AsFirstProcess, arguments);
        command.output().unwrap().status.code()
    };
    assert_eq!(code(&["--version"]), Some(0));
    assert_eq!(code(&["server", "--port", "0"]), Some(1), "a server without a data directory must fail");
    assert_eq!(code(&["no-such-command"]), Some(2));
}

#[test]
fn process_1_exits_with_128_plus_the_signal_that_killed_the_program() {
    let root = Root::bare();
    let mut server = root.serve(Start::AsFirstProcess);
    let first = first_process(&server);
    let program = *first.descendants().iter().find(|process| first.is_parent_of(**process)).unwrap();
    program.signal("KILL");
    assert_eq!(server.wait_for_end().code(), Some(128 + 9));
}

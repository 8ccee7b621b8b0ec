//! Interrupted installs: the client, the instance or the whole server goes away.

use std::time::Duration;

use serde_json::json;

use crate::support::depot::FAKE;
use crate::support::npm::{machine_with_gemini, pinned_gemini};
use crate::support::{Depot, Machine, ask, hello, install, script, show};
use test_harness::{Process, eventually};

/// A server that has begun to download an agent for `a`, with the download on hold.
macro_rules! held_install {
    ($depot:ident, $gate:ident, $machine:ident, $server:ident) => {
        let $depot = Depot::with_fake(&script("1.0.0"));
        let $gate = $depot.hold(FAKE);
        let $machine = Machine::new(&$depot.registry());
        #[allow(unused_mut, reason = "some tests end the server themselves")]
        let mut $server = $machine.start();
    };
}

#[test]
fn delete_during_an_install_releases_the_instance_and_the_install_continues() {
    held_install!(depot, gate, machine, server);
    let first = hello(&server, "a", "fake").start();
    depot.wait_for_download();
    let mut reader = server.stream("a");
    server.delete("a").send().expect(204);
    first.join().unwrap().problem(502, "instance_closed");
    assert_eq!(reader.next().json()["error"], "closed");
    assert_eq!(server.summary("a"), None);
    assert_eq!(show(&server, "fake")["install"]["state"], "installing");
    gate.open();
    eventually("the install ends", || (show(&server, "fake")["installed"] == true).then_some(()));
    assert_eq!(server.summary("a"), None, "a process was started for a released instance");
    hello(&server, "a", "fake").send().expect(200);
    assert_eq!(depot.requests(FAKE), 1);
}

#[test]
fn a_post_whose_client_disconnects_during_the_install_is_still_forwarded() {
    held_install!(depot, gate, machine, server);
    let connection = hello(&server, "a", "fake").write();
    depot.wait_for_download();
    drop(connection);
    let mut reader = server.stream("a");
    gate.open();
    let answer = reader.next();
    assert!(answer.answers(&json!(1)), "{answer:?}");
    assert_eq!(server.summary("a").unwrap()["status"], "running");
    drop(machine);
}

#[test]
fn an_explicit_install_continues_when_its_client_disconnects() {
    held_install!(depot, gate, machine, server);
    let connection = install(&server, "fake", &json!({})).write();
    depot.wait_for_download();
    drop(connection);
    gate.open();
    eventually("the install ends", || {
        (show(&server, "fake")["install"]["state"] == "installed").then_some(())
    });
    assert_eq!(machine.versions("fake"), ["1.0.0", "current"]);
}

#[test]
fn a_server_killed_during_an_install_does_not_affect_the_next_one() {
    held_install!(depot, gate, machine, server);
    let _connection = hello(&server, "a", "fake").write();
    depot.wait_for_download();
    eventually("the install has begun", || (!machine.versions("fake").is_empty()).then_some(()));
    server.process.signal("KILL");
    server.wait_for_end(Duration::from_secs(5));
    gate.open();
    let next = machine.start();
    assert_eq!(show(&next, "fake")["installed"], false);
    hello(&next, "a", "fake").send().expect(200);
    assert_eq!(machine.versions("fake"), ["1.0.0", "current"]);
}

#[test]
fn a_server_stopped_during_an_install_stops_and_fails_the_waiting_requests() {
    held_install!(depot, gate, machine, server);
    let first = hello(&server, "a", "fake").start();
    depot.wait_for_download();
    server.process.signal("TERM");
    first.join().unwrap().problem(503, "server_stopping");
    assert_eq!(server.wait_for_end(Duration::from_secs(10)).code(), Some(0));
    gate.open();
    let next = machine.start();
    hello(&next, "a", "fake").send().expect(200);
    assert_eq!(machine.versions("fake"), ["1.0.0", "current"]);
}

#[test]
fn an_instance_keeps_running_from_its_own_files_during_a_reinstall() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    hello(&server, "old", "fake").send().expect(200);
    let process = server.agent_process("old");
    let old_path = ask(&server, "old", 2, "where");
    let outcome = install(&server, "fake", &json!({"reinstall": true})).send().expect(200).json();
    assert_eq!(outcome["already_installed"], false);
    assert_eq!(depot.requests(FAKE), 2);

    assert_eq!(ask(&server, "old", 3, "where"), old_path);
    assert_eq!(server.agent_process("old"), process);
    assert!(std::path::Path::new(old_path.as_str().unwrap()).exists());
    hello(&server, "new", "fake").send().expect(200);
    let new_path = ask(&server, "new", 2, "where");
    assert_ne!(new_path, old_path);
    assert_eq!(machine.versions("fake").len(), 3, "expected both versions and the link");
    // The old files are no longer in use.
    server.delete("old").send().expect(204);
    eventually("the old version is deleted", || (machine.versions("fake").len() == 2).then_some(()));
    assert_eq!(ask(&server, "new", 3, "where"), new_path);
}

/// A machine on which installing `gemini` does not end: a script of the package writes its process id and sleeps.
fn machine_with_endless_install() -> (Depot, Machine) {
    let stay = json!({ "hasInstallScript": true,
        "scripts": { "postinstall": "echo $$ > \"$PROCESS_FILE\"; exec sleep 300" } });
    let (depot, machine) = machine_with_gemini(&[&pinned_gemini().1], &stay);
    let file = machine.folder().join("process").display().to_string();
    (depot, machine.with("PROCESS_FILE", &file))
}

/// The script, once it runs.
#[track_caller]
fn install_script(machine: &Machine) -> Process {
    eventually("the package's script runs", || {
        let text = std::fs::read_to_string(machine.folder().join("process")).ok()?;
        text.strip_suffix('\n')?.parse().ok().map(Process::of)
    })
}

#[test]
fn a_stopping_server_ends_the_tools_of_an_install() {
    let (_depot, machine) = machine_with_endless_install();
    let mut server = machine.start();
    let first = hello(&server, "a", "gemini").start();
    let script = install_script(&machine);
    server.process.signal("TERM");
    first.join().unwrap().problem(503, "server_stopping");
    assert_eq!(server.wait_for_end(Duration::from_secs(10)).code(), Some(0));
    eventually("the script has ended", || (!script.is_alive()).then_some(()));
}

#[test]
fn an_interrupted_command_ends_the_tools_of_an_install() {
    let (_depot, machine) = machine_with_endless_install();
    let running = machine.begin(&["install", "gemini"]);
    let script = install_script(&machine);
    running.process().signal("INT");
    let finished = running.end();
    assert_eq!(finished.code, Some(130), "{}", finished.errors);
    assert!(finished.errors.ends_with("sandbox-agent: interrupted\n"), "{}", finished.errors);
    eventually("the script has ended", || (!script.is_alive()).then_some(()));
}

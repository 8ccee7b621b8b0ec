//! No orphans and no zombies are left, whichever process ends and however it ends.

use serde_json::json;

use test_harness::rpc::call;
use test_harness::{Process, Server};

/// An agent with a child, a zombie, and a daemon that has left its session, its environment and its parent.
fn family(server: &Server, server_id: &str) -> Vec<Process> {
    let zombie = server.spawn(server_id, "spawn_child", json!({"short": true}));
    vec![
        server.agent_process(server_id),
        server.spawn(server_id, "spawn_child", json!({})),
        server.spawn(server_id, "spawn_daemon", json!({})),
        server.spawn(server_id, "spawn_daemon", json!({"deaf": true})),
        zombie,
    ]
}

#[track_caller]
fn all_gone(processes: &[Process]) {
    for process in processes {
        process.wait_until_gone();
    }
}

#[test]
fn a_setsid_daemon_of_an_agent_belongs_to_its_instance() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    let (of_a, of_b) = (family(&server, "a"), family(&server, "b"));
    let supervisor = of_a[0].parent();
    let daemon = of_a[2];
    assert_eq!(daemon.parent(), supervisor, "the daemon must be a child of the instance's own supervisor");
    server.delete("a").send().expect(204);
    assert!(of_a.iter().all(|process| process.is_gone()));
    assert!(of_b[..3].iter().all(|process| process.is_alive()), "another instance's processes must stay");
}

#[test]
fn nothing_survives_an_agent_that_crashes() {
    let server = Server::start();
    server.open("a", "fault");
    let family = family(&server, "a");
    family[0].signal("KILL");
    all_gone(&family);
    server.wait_for("a", "it has exited", |summary| summary["status"] == "exited");
    test_harness::eventually("the supervisor is gone", || {
        server.process.descendants().is_empty().then_some(())
    });
}

#[test]
fn nothing_survives_an_agent_that_exits() {
    let server = Server::start();
    server.open("a", "fault");
    let family = family(&server, "a");
    server.post("a", call("x", "exit", json!({}))).send().problem(502, "agent_exited");
    all_gone(&family);
}

#[test]
fn nothing_survives_sigterm_of_the_server() {
    let mut server = Server::start();
    server.open("a", "fault");
    let family = family(&server, "a");
    server.process.signal("TERM");
    assert_eq!(server.wait_for_end(std::time::Duration::from_secs(10)).code(), Some(0));
    assert!(family.iter().all(|process| process.is_gone()), "something outlived the server");
}

#[test]
fn nothing_survives_kill_9_of_the_server() {
    let mut server = Server::with().agent("immortal", "--ignore-eof --ignore-term").start();
    server.open("a", "fault");
    server.open("b", "immortal");
    let mut families = family(&server, "a");
    families.extend(family(&server, "b"));
    server.process.signal("KILL");
    server.wait_for_end(std::time::Duration::from_secs(5));
    all_gone(&families);
}

#[test]
fn the_agent_does_not_survive_kill_9_of_its_supervisor_and_waiting_requests_fail() {
    let server = Server::start();
    server.open("a", "fault");
    let agent = server.agent_process("a");
    let child = server.spawn("a", "spawn_child", json!({}));
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    agent.parent().signal("KILL");
    waiting.join().unwrap().problem(502, "agent_exited");
    let ended =
        |process: Process| test_harness::eventually("it has ended", || (!process.is_alive()).then_some(()));
    ended(agent);
    ended(child);
}

#[test]
fn opening_and_closing_many_instances_leaves_nothing_behind() {
    let server = Server::start();
    for round in 0..3 {
        let ids: Vec<_> = (0..8).map(|n| format!("i{round}-{n}")).collect();
        let opening: Vec<_> = ids
            .iter()
            .map(|id| server.post(id, call(1, "spawn_daemon", json!({}))).query("agent", "fault").start())
            .collect();
        opening.into_iter().for_each(|post| drop(post.join().unwrap().expect(200)));
        let closing: Vec<_> = ids.iter().map(|id| server.delete(id).start()).collect();
        closing.into_iter().for_each(|delete| drop(delete.join().unwrap().expect(204)));
    }
    test_harness::eventually("nothing is left", || server.process.descendants().is_empty().then_some(()));
}

#[test]
fn a_supervisor_that_was_stopped_still_ends_its_tree_on_delete() {
    let server = Server::start();
    server.open("a", "fault");
    let family = family(&server, "a");
    family[0].parent().signal("STOP");
    server.delete("a").send().expect(204);
    assert!(family.iter().all(|process| process.is_gone()), "something outlived its instance");
}

#[test]
fn a_supervisor_that_was_stopped_still_ends_its_tree_after_kill_9_of_the_server() {
    let mut server = Server::start();
    server.open("a", "fault");
    let family = family(&server, "a");
    family[0].parent().signal("STOP");
    server.process.signal("KILL");
    server.wait_for_end(std::time::Duration::from_secs(5));
    all_gone(&family);
}

#[test]
fn an_agent_inherits_only_its_three_pipes() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    let _stream = server.stream("a");
    for id in ["a", "b"] {
        let folder = format!("/proc/{}/fd", server.agent_process(id).pid);
        let mut numbers: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        numbers.sort();
        assert_eq!(numbers, ["0", "1", "2"]);
    }
}

/// An agent with a second process that ignores SIGTERM and, every few milliseconds, replaces itself by a child in
/// a new session, so that its process id keeps changing.
fn server_with_hydra() -> (Server, String) {
    let builder = Server::with();
    let hydra =
        builder.file("hydra.sh", "trap '' TERM\nsleep 0.01\nsetsid sh \"$0\" >/dev/null 2>&1 </dev/null &\n");
    let hydra = hydra.to_str().unwrap().to_owned();
    let agent = test_harness::server::fault_agent();
    let script = format!("setsid sh {hydra} >/dev/null 2>&1 </dev/null & exec {}", agent.display());
    let server = builder.flag("--agent", &format!("hydra=sh -c '{script}'")).start();
    server.open("a", "hydra");
    test_harness::eventually("it runs", || (heads(&hydra) > 0).then_some(()));
    (server, hydra)
}

/// The number of processes with this script in their command line.
fn heads(script: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    // The agent's own shell also has the script in its command line, as part of a longer word, until it
    // becomes the agent.
    lines.filter(|line| line.split(|byte| *byte == 0).any(|word| word == script.as_bytes())).count()
}

/// True if none of many checks sees a process with this script. A single check can miss a process that is
/// just replacing itself.
fn is_dead(script: &str) -> bool {
    (0..40).all(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        heads(script) == 0
    })
}

#[test]
fn a_process_that_forks_faster_than_it_can_be_found_does_not_survive_delete() {
    let (server, hydra) = server_with_hydra();
    server.delete("a").send().expect(204);
    assert!(is_dead(&hydra));
}

#[test]
fn processes_that_fork_and_exit_without_end_do_not_keep_delete_waiting() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "spawn_chains", json!({"count": 100, "seconds": 120}));
    server.delete("a").send().expect(204);
    assert!(server.process.descendants().is_empty(), "something outlived its instance");
}

#[test]
fn a_process_that_forks_faster_than_it_can_be_found_does_not_survive_kill_9_of_the_server() {
    let (mut server, hydra) = server_with_hydra();
    server.process.signal("KILL");
    server.wait_for_end(std::time::Duration::from_secs(5));
    test_harness::eventually("no process is left", || is_dead(&hydra).then_some(()));
}

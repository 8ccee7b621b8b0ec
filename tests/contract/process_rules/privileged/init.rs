//! As process 1 of a container, the binary splits into an init and the server.

use serde_json::json;

use test_harness::{Process, Server, eventually};

/// Starts the server as process 1 of its own process namespace.
fn start_as_first_process() -> Server {
    let builder = Server::with();
    let root = rustix::process::getuid().is_root();
    let user: &[&str] = if root { &[] } else { &["--user", "--map-root-user"] };
    let rest = ["--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL"];
    builder.under("unshare", &[user, &rest].concat()).start()
}

/// Process 1 of the namespace, as seen from outside.
fn first_process(server: &Server) -> Process {
    let child = |process: Process| {
        let family = process.descendants();
        *family.iter().find(|child| process.is_parent_of(**child)).expect("it has a child")
    };
    child(server.process)
}

#[test]
fn below_process_1_the_server_ends_what_a_killed_supervisor_left() {
    let server = start_as_first_process();
    let first = first_process(&server);
    server.open("a", "fault");
    spawn_inside(&server, "a");
    let agent = *first
        .descendants()
        .iter()
        .find(|process| {
            let command = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            String::from_utf8_lossy(&command)
                .split('\0')
                .next()
                .is_some_and(|name| name.ends_with("fault-agent"))
        })
        .expect("there is an agent");
    let supervisor = agent.parent();
    let orphans = supervisor.descendants();
    assert!(orphans.len() >= 2, "an agent and its daemon");
    supervisor.signal("KILL");
    orphans.into_iter().for_each(Process::wait_until_gone);
    eventually("no zombie is left", || {
        (!first.descendants().iter().any(|process| process.is_zombie())).then_some(())
    });
    server.request("GET", "/v1/health").send().expect(200);
}

#[test]
fn as_process_1_the_server_forwards_sigterm_and_exits_with_0() {
    let mut server = start_as_first_process();
    server.open("a", "fault");
    let first = first_process(&server);
    let family = first.descendants();
    first.signal("TERM");
    assert_eq!(server.wait_for_end(std::time::Duration::from_secs(10)).code(), Some(0));
    assert!(family.iter().all(|process| process.is_gone()));
}

/// Makes the agent start a daemon. The process id that the agent reports is the one inside the namespace.
fn spawn_inside(server: &Server, server_id: &str) {
    assert!(server.tell(server_id, "spawn_daemon", json!({}))["pid"].is_u64());
}

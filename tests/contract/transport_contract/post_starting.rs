//! POST, rule 2: an instance exists from its first POST on, even while its agent is being installed.

use serde_json::json;

use test_harness::installs::{Depot, Download};
use test_harness::rpc::{call, notification};
use test_harness::{Server, eventually};

fn lazy_server() -> (Depot, Server) {
    let depot = Depot::open();
    let server = Server::with().registry(&depot.registry).start();
    (depot, server)
}

#[test]
fn the_first_post_installs_the_agent_then_starts_it_then_forwards() {
    let (depot, server) = lazy_server();
    let first = server.post("a", call(1, "echo", json!("hello"))).query("agent", "lazy").start();
    depot.wait_for_download();
    let starting = server.wait_for("a", "it starts", |summary| summary["status"] == "starting");
    assert_eq!((&starting["agent"], &starting["pid"]), (&json!("lazy"), &json!(null)));
    depot.release(Download::Works);
    assert_eq!(first.join().unwrap().expect(200).json()["result"], "hello");
    assert_eq!(server.summary("a").unwrap()["status"], "running");
}

#[test]
fn a_get_attaches_while_the_instance_of_the_first_post_is_starting() {
    let (depot, server) = lazy_server();
    let first = server.post("a", call(1, "echo", json!("hello"))).query("agent", "lazy").start();
    depot.wait_for_download();
    let mut stream = server.stream("a");
    assert_eq!(stream.comment(), "connected");
    depot.release(Download::Works);
    assert!(stream.next().answers(&json!(1)));
    first.join().unwrap().expect(200);
}

#[test]
fn posts_during_starting_are_forwarded_in_order_to_one_process() {
    let (depot, server) = lazy_server();
    let mut waiting = Vec::new();
    for n in 0..10 {
        waiting.push(server.post("a", call(n, "echo", json!(n))).query("agent", "lazy").start());
        server.wait_for("a", "it arrives", |summary| summary["pendingRequests"] == n + 1);
    }
    depot.wait_for_download();
    let mut stream = server.stream("a");
    depot.release(Download::Works);
    for n in 0..10 {
        assert_eq!(stream.next().json()["result"], n);
    }
    for waiter in waiting {
        waiter.join().unwrap().expect(200);
    }
    assert_eq!(depot.further_downloads(), 0, "all must share one install");
}

#[test]
fn a_notification_during_starting_waits_for_the_start_and_is_202() {
    let (depot, server) = lazy_server();
    let notification_post =
        server.post("a", notification("received", json!({}))).query("agent", "lazy").start();
    depot.wait_for_download();
    assert!(!notification_post.is_finished());
    let mut stream = server.stream("a");
    depot.release(Download::Works);
    notification_post.join().unwrap().expect_accepted();
    stream.until(|event| event.is_call_of("received"));
}

#[test]
fn a_failed_install_is_502_for_every_waiting_post_and_exit_for_every_reader_and_the_next_post_tries_again() {
    let (depot, server) = lazy_server();
    let post = |n: u64| server.post("a", call(n, "echo", json!(n))).query("agent", "lazy");
    let waiting = [post(1).start(), post(2).start()];
    server.wait_for("a", "both wait", |summary| summary["pendingRequests"] == 2);
    let notification = server.post("a", notification("received", json!({}))).start();
    let mut journal = server.get("a").query("view", "journal").stream();
    journal.until(|event| event.name == "sent" && event.json()["method"] == "received");
    depot.wait_for_download();
    let mut stream = server.stream("a");
    depot.release(Download::Missing);
    for waiter in waiting {
        waiter.join().unwrap().problem(502, "install_failed");
    }
    notification.join().unwrap().problem(502, "install_failed");
    let exit = stream.next();
    assert_eq!((exit.name.as_str(), &exit.json()["error"]), ("exit", &json!("install_failed")));
    assert_eq!(stream.next_or_end(), None, "exit must end the stream");
    eventually("the instance is gone", || server.summary("a").is_none().then_some(()));
    server.get("a").send().problem(404, "unknown_server");

    let again = post(3).start();
    depot.wait_for_download();
    depot.release(Download::Works);
    assert_eq!(again.join().unwrap().expect(200).json()["result"], 3);
}

#[test]
fn a_failed_spawn_is_502_with_the_reason_and_the_instance_is_removed() {
    let server = Server::with().flag("--agent", "absent=/no/such/program").start();
    let post = || server.post("a", call(1, "echo", json!(1))).query("agent", "absent").send();
    let problem = post().problem(502, "spawn_failed");
    assert!(problem["detail"].as_str().unwrap().contains("/no/such/program"), "{problem}");
    assert_eq!(server.summary("a"), None);
    // The id is free, so another agent may use it.
    post().problem(502, "spawn_failed");
    server.post("a", call(1, "echo", json!(1))).query("agent", "fault").send().expect(200);
}

#[test]
fn sixty_four_concurrent_first_posts_start_one_process_and_all_are_answered() {
    let server = Server::start();
    let racers: Vec<_> = (0..64)
        .map(|n| server.post("a", call(n, "pid", json!({}))).query("agent", "fault").start())
        .collect();
    let process = racers
        .into_iter()
        .map(|racer| racer.join().unwrap().expect(200).json()["result"].as_u64().unwrap())
        .reduce(|one, other| {
            assert_eq!(one, other, "two processes answered");
            one
        });
    assert_eq!(server.summary("a").unwrap()["pid"].as_u64(), process);
    let agents = server.process.descendants().len();
    assert_eq!(agents, 2, "expected one supervisor and one agent");
}

#[test]
fn without_lazy_installation_an_agent_that_is_not_installed_is_409() {
    let depot = Depot::open();
    let server = Server::with().registry(&depot.registry).switch("--require-preinstall").start();
    let post = server.post("a", call(1, "echo", json!(1))).query("agent", "lazy").send();
    assert_eq!(post.problem(409, "agent_not_installed")["agent"], "lazy");
    assert_eq!(depot.further_downloads(), 0);
}

#[test]
fn an_asynchronous_request_fails_before_the_exit_of_a_failed_install() {
    let (depot, server) = lazy_server();
    let post = server.post("a", call("p", "echo", json!({}))).query("agent", "lazy");
    post.header("Prefer", "respond-async").send().expect_accepted();
    depot.wait_for_download();
    let mut stream = server.stream("a");
    depot.release(Download::Missing);
    let failed = stream.next();
    assert_eq!((failed.name.as_str(), &failed.json()["id"]), ("failed", &json!("p")));
    assert_eq!(failed.json()["problem"]["type"], "urn:sandbox-agent:error:install_failed");
    assert_eq!(stream.next().name, "exit");
}

#[test]
fn an_install_finishes_when_the_client_that_caused_it_disconnects() {
    let (depot, server) = lazy_server();
    let connection = server.post("a", call(1, "echo", json!("hello"))).query("agent", "lazy").write();
    depot.wait_for_download();
    drop(connection);
    let mut stream = server.stream("a");
    depot.release(Download::Works);
    assert!(stream.next().answers(&json!(1)), "the message must be forwarded anyway");
    assert_eq!(server.summary("a").unwrap()["status"], "running");
}

#[test]
fn another_agent_is_409_while_the_instance_starts() {
    let (depot, server) = lazy_server();
    let first = server.post("a", call(1, "echo", json!({}))).query("agent", "lazy").start();
    depot.wait_for_download();
    let other = server.post("a", call(2, "echo", json!({}))).query("agent", "fault").send();
    assert_eq!(other.problem(409, "agent_mismatch")["agent"], "lazy");
    depot.release(Download::Works);
    first.join().unwrap().expect(200);
}

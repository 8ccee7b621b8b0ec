//! SIGTERM and SIGINT: stop accepting, fail waiting requests, end all agents, exit with 0 within 10 s.

use std::time::Duration;

use serde_json::json;

use test_harness::rpc::{call, path};
use test_harness::{Request, Server, eventually};

const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn sigterm_fails_waiting_requests_with_server_stopping_and_exits_0() {
    let mut server = Server::start();
    server.open("a", "fault");
    let waiting: Vec<_> = (0..3).map(|id| server.post("a", call(id, "never", json!({}))).start()).collect();
    server.wait_for("a", "all wait", |summary| summary["pendingRequests"] == 3);
    server.process.signal("TERM");
    for waiter in waiting {
        waiter.join().unwrap().problem(503, "server_stopping");
    }
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
}

#[test]
fn sigint_does_the_same() {
    let mut server = Server::start();
    server.open("a", "fault");
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    server.process.signal("INT");
    waiting.join().unwrap().problem(503, "server_stopping");
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
}

#[test]
fn sigterm_ends_all_instances_in_parallel_even_those_that_ignore_it() {
    let mut server = Server::with().agent("immortal", "--ignore-eof --ignore-term").start();
    let ids = ["a", "b", "c", "d"];
    let mut processes = Vec::new();
    for id in ids {
        server.open(id, "immortal");
        processes.push(server.agent_process(id));
        processes.push(server.spawn(id, "spawn_daemon", json!({"deaf": true})));
    }
    server.process.signal("TERM");
    // Sequentially, they would take twenty seconds.
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
    assert!(processes.iter().all(|process| process.is_gone()), "something outlived the server");
}

#[test]
fn sigterm_ends_streams_with_exit_after_the_agents_last_output() {
    let mut server = Server::start();
    server.open("a", "fault");
    let mut stream = server.stream("a");
    let mut many = server.request("GET", "/v1/acp").header("Accept", "text/event-stream").stream();
    server.process.signal("TERM");
    let events = stream.rest();
    assert_eq!(events.last().unwrap().name, "exit");
    many.rest();
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
}

#[test]
fn new_requests_are_refused_while_the_server_stops() {
    let mut server = Server::with()
        .flag("--terminate-grace", "500ms")
        .flag("--close-grace", "500ms")
        .agent("immortal", "--ignore-eof --ignore-term")
        .start();
    server.open("a", "immortal");
    // A connection that is already open is still answered, with 503.
    let stream = server.stream("a");
    server.process.signal("TERM");
    eventually("the port is closed", || {
        let connection = std::net::TcpStream::connect(("127.0.0.1", server.port));
        connection.is_err().then_some(())
    });
    drop(stream);
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
}

#[test]
fn a_post_on_an_open_connection_is_503_while_the_server_stops() {
    let mut server = Server::with()
        .flag("--terminate-grace", "500ms")
        .flag("--close-grace", "500ms")
        .agent("immortal", "--ignore-eof --ignore-term")
        .start();
    server.open("a", "immortal");
    // The headers are sent, the body is not: the request is in progress when the server receives SIGTERM.
    let body = call(1, "echo", json!({}));
    let request = Request::new(server.port, "POST", &path("b?agent=fault"))
        .header("Content-Type", "application/json")
        .header("Content-Length", &body.len().to_string());
    let mut connection = request.write();
    server.tell("a", "echo", json!({}));
    server.process.signal("TERM");
    eventually("the port is closed", || {
        std::net::TcpStream::connect(("127.0.0.1", server.port)).is_err().then_some(())
    });
    std::io::Write::write_all(&mut connection, body.as_bytes()).unwrap();
    let answer = test_harness::Response::read(&mut std::io::BufReader::new(connection));
    answer.problem(503, "server_stopping");
    assert!(answer.headers.get("retry-after").is_some());
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
}

#[test]
fn a_stalled_reader_and_an_idle_connection_do_not_delay_the_exit() {
    let mut server = Server::start();
    server.open("a", "fault");
    let idle = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    // A reader that never reads, with more data pending than any socket buffer holds.
    let stalled = server.get("a").write();
    server.tell("a", "emit", json!({"count": 30, "bytes": 1 << 20}));
    server.process.signal("TERM");
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
    drop((idle, stalled));
}

#[test]
fn a_server_without_instances_stops_at_once() {
    let mut server = Server::start();
    server.request("GET", "/healthz").send().expect(200);
    server.process.signal("TERM");
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
}

#[test]
fn the_end_of_standard_input_stops_a_server_that_is_configured_for_it() {
    // The test harness starts servers with a standard input that has already ended. Without the flag, that
    // does not stop them.
    let mut server = Server::with().switch("--stop-with-stdin").start();
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
}

#[test]
fn sigterm_during_an_install_fails_waiting_requests_and_exits_0() {
    let depot = test_harness::installs::Depot::open();
    let mut server = Server::with().registry(&depot.registry).start();
    let waiting = server.post("a", call(1, "echo", json!({}))).query("agent", "lazy").start();
    depot.wait_for_download();
    server.process.signal("TERM");
    waiting.join().unwrap().problem(503, "server_stopping");
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(0));
}

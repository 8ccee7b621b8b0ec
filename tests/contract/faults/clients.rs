//! Clients that disconnect, repeat requests or interfere with each other.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use test_harness::rpc::{call, path};
use test_harness::{Request, Server, eventually};

#[test]
fn a_client_that_disconnects_during_a_request_keeps_its_id_pending_and_finds_the_answer_on_the_stream() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let connection = server.post("a", call(1, "slow", json!({"ms": 600}))).write();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    drop(connection);
    server.post("a", call(1, "echo", json!({}))).send().problem(409, "duplicate_request_id");
    assert!(stream.next().answers(&json!(1)));
    server.post("a", call(1, "echo", json!({}))).send().expect(200);
}

#[test]
fn a_client_that_disconnects_within_its_body_has_sent_nothing() {
    let server = Server::start();
    server.open("a", "fault");
    let body = call(1, "echo", json!({}));
    let request = Request::new(server.port, "POST", &path("a")).header("Content-Type", "application/json");
    let mut connection = request.header("Content-Length", &body.len().to_string()).write();
    connection.write_all(&body.as_bytes()[..20]).unwrap();
    drop(connection);
    server.tell("a", "echo", json!({}));
    let mut journal = server.get("a").query("view", "journal").stream();
    let sent: Vec<_> = journal
        .up_to(|event| event.name == "message" && event.data.contains("tell-"))
        .into_iter()
        .filter(|event| event.name == "sent")
        .collect();
    assert_eq!(sent.len(), 2, "expected the hello and the echo");
}

#[test]
fn concurrent_duplicate_ids_from_two_clients_get_one_answer_and_one_409() {
    let server = Server::start();
    server.open("a", "fault");
    for round in 0..10 {
        let racers = [0, 1].map(|_| server.post("a", call(round, "slow", json!({"ms": 100}))).start());
        let mut statuses = racers.map(|racer| racer.join().unwrap().status);
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
    }
}

#[test]
fn a_retried_post_with_the_same_key_runs_one_prompt_and_answers_both_callers() {
    let server = Server::start();
    server.open("a", "fault");
    let post =
        || server.post("a", call("p", "slow", json!({"ms": 200}))).header("Idempotency-Key", "k").start();
    let racers: Vec<_> = (0..8).map(|_| post()).collect();
    let answers: Vec<_> = racers.into_iter().map(|racer| racer.join().unwrap().expect(200).body).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    server.tell("a", "echo", json!({}));
    let mut stream = server.stream("a");
    let seen = stream.up_to(|event| event.data.contains("tell-"));
    assert_eq!(seen.iter().filter(|event| event.answers(&json!("p"))).count(), 1, "the prompt must run once");
}

#[test]
fn a_stream_whose_reader_disconnects_is_released() {
    let server = Server::start();
    server.open("a", "fault");
    for _ in 0..20 {
        server.stream("a").cut();
    }
    server.tell("a", "emit", json!({"count": 10}));
    eventually("no reader is counted", || (server.summary("a").unwrap()["readers"] == 0).then_some(()));
}

#[test]
fn a_slow_body_blocks_no_other_client() {
    let server = Server::start();
    server.open("a", "fault");
    let request = Request::new(server.port, "POST", &path("a")).header("Content-Type", "application/json");
    let slow: Vec<_> = (0..50)
        .map(|_| {
            let mut connection = request.clone().header("Content-Length", "1000").write();
            connection.write_all(b"{").unwrap();
            connection
        })
        .collect();
    server.tell("a", "echo", json!({}));
    drop(slow);
}

#[test]
fn garbage_instead_of_http_is_answered_or_dropped_and_the_server_survives() {
    let server = Server::start();
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET\r\n\r\n",
        b"\0\0\0\0\0\0",
        b"POST /v1/acp/a HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ] {
        let mut connection = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        connection.write_all(garbage).unwrap();
        drop(connection);
    }
    server.request("GET", "/v1/health").send().expect(200);
}

#[test]
fn clients_that_concurrently_open_use_and_close_one_id_leave_nothing_behind() {
    let server = Server::start();
    let port = server.port;
    let end = Instant::now() + Duration::from_secs(2);
    let clients: Vec<_> = (0..8)
        .map(|client| {
            std::thread::spawn(move || {
                let mut statuses = std::collections::BTreeMap::new();
                for round in 0.. {
                    if Instant::now() > end {
                        break;
                    }
                    let request = match (client + round) % 4 {
                        0 => Request::new(port, "DELETE", "/v1/acp/a"),
                        1 => Request::new(port, "GET", "/v1/acp"),
                        _ => Request::new(port, "POST", "/v1/acp/a?agent=fault").body(call(
                            format!("{client}-{round}"),
                            "echo",
                            json!({}),
                        )),
                    };
                    *statuses.entry(request.send().status).or_insert(0) += 1;
                }
                statuses
            })
        })
        .collect();
    for client in clients {
        let statuses = client.join().unwrap();
        assert!(statuses.keys().all(|status| [200, 204, 409, 502].contains(status)), "{statuses:?}");
        assert!(statuses.get(&200).is_some_and(|count| *count > 3), "{statuses:?}");
    }
    server.delete("a").send().expect(204);
    assert_eq!(server.request("GET", "/v1/acp").send().expect(200).json()["servers"], json!([]));
    eventually("nothing is left", || server.process.descendants().is_empty().then_some(()));
    assert!(!server.log().contains("panicked"));
}

//! Clients that read slowly or not at all: what the server holds for them is bounded and accounted for, and a client that
//! takes nothing is disconnected in the end.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use test_harness::rpc::{call, path};
use test_harness::{Request, Server, eventually};

const MEBIBYTE: u64 = 1 << 20;
const BUDGET: u64 = 64 * MEBIBYTE;

fn small_budget() -> Server {
    Server::with().flag("--memory-budget", "64MiB").start()
}

/// Checks the resident memory against the account, and the account against the budget with one message beyond it.
#[track_caller]
fn check_memory(server: &Server, what: &str) {
    let (accounted, resident) = (server.accounted_memory(), server.process.resident_memory());
    let (in_mib, of_account) = (resident / MEBIBYTE, accounted / MEBIBYTE);
    println!("{what}: {in_mib} MiB resident, {of_account} MiB accounted");
    assert!(resident <= accounted * 3 / 2 + 40 * MEBIBYTE, "{what}: {in_mib} MiB for {of_account} accounted");
    assert!(accounted <= BUDGET + 8 * MEBIBYTE, "{what}: {of_account} MiB accounted for a budget of 64");
}

/// Waits until the server has passed on what it can.
#[track_caller]
fn settle(server: &Server) {
    let mut last = 0;
    let mut same = 0;
    eventually("the server is done with what it can do", || {
        let now = server.process.resident_memory() / MEBIBYTE;
        same = if now == last { same + 1 } else { 0 };
        last = now;
        (same > 60).then_some(())
    });
}

#[test]
fn readers_that_never_read_hold_no_more_than_the_budget_and_cost_no_other_reader_an_event() {
    let server = small_budget();
    server.open("a", "fault");
    let mut healthy = server.get("a").query("replay", "none").stream();
    let mut readers = Vec::new();
    for number in 0..40 {
        readers.push(server.get("a").query("replay", "none").write());
        // More than the kernel takes of a response that is not read.
        server.tell("a", "emit", json!({"count": 1, "bytes": 8_000_000}));
        assert!(healthy.next().is_call_of("burst"), "number {number}");
        assert!(healthy.next().json()["result"].is_null());
        if number % 10 == 9 {
            check_memory(&server, "readers on one message each");
        }
    }
    settle(&server);
    check_memory(&server, "readers on one message each");
}

#[test]
fn answers_that_are_not_read_hold_no_more_than_the_budget() {
    let server = small_budget();
    server.open("a", "fault");
    let filler = "x".repeat(6_000_000);
    let unread: Vec<TcpStream> = (0..30)
        .map(|number| {
            let post = server.post("a", call(number, "echo", json!({"filler": filler}))).write();
            server.wait_for("a", "it is answered", |summary| summary["pendingRequests"] == 0);
            post
        })
        .collect();
    settle(&server);
    check_memory(&server, "unread answers");
    drop(unread);
}

/// Opens 20 streams of twelve instances, and ten of one, that nobody reads.
fn unread_streams(server: &Server) -> Vec<TcpStream> {
    for number in 0..12 {
        let id = format!("i{number}");
        server.open(&id, "fault");
        server.tell(&id, "emit", json!({"count": 8000, "bytes": 1000}));
    }
    let all = |view: &str| {
        let request = server.request("GET", "/v1/acp").header("Accept", "text/event-stream");
        request.query("view", view).query("replay", "all").write()
    };
    let mut unread: Vec<_> = (0..10).flat_map(|_| ["messages", "journal"].map(all)).collect();
    unread.extend((0..10).map(|_| server.get("i0").query("view", "journal").write()));
    unread
}

#[test]
fn streams_of_many_instances_that_are_not_read_share_what_memory_holds() {
    let server = Server::with().flag("--journal", "off").start();
    let before = server.process.resident_memory();
    let unread = unread_streams(&server);
    settle(&server);
    let held = 12 * 8 * MEBIBYTE;
    let grown = server.process.resident_memory().saturating_sub(before);
    assert!(
        grown < held + held / 4 + 20 * MEBIBYTE,
        "30 readers that do not read took {} MiB",
        grown / MEBIBYTE
    );
    drop(unread);
}

#[test]
fn streams_that_read_the_journal_and_are_not_read_hold_no_more_than_the_budget() {
    let server = small_budget();
    let unread = unread_streams(&server);
    settle(&server);
    let (accounted, resident) = (server.accounted_memory(), server.process.resident_memory());
    assert!(accounted <= BUDGET + 8 * MEBIBYTE, "{} MiB accounted", accounted / MEBIBYTE);
    // More than the account: the threads that read files keep memory that they have freed. It must not grow with the
    // number of readers.
    assert!(resident <= 3 * BUDGET + 32 * MEBIBYTE, "{} MiB resident", resident / MEBIBYTE);
    drop(unread);
}

#[test]
fn retained_requests_are_shared_and_delivered_some_at_a_time() {
    let server = Server::with().flag("--journal", "off").flag("--replay-events", "100").start();
    server.open("a", "fault");
    server.tell("a", "ask_many", json!({"prefix": "many", "count": 3000, "bytes": 15_000}));
    // They leave the log, but not the server.
    server.tell("a", "emit", json!({"count": 200, "bytes": 10}));
    let before = server.process.resident_memory();
    let unread: Vec<_> = (0..40)
        .flat_map(|number| {
            let view = if number % 2 == 0 { "messages" } else { "journal" };
            let all = server.request("GET", "/v1/acp").header("Accept", "text/event-stream");
            [server.get("a").query("view", view).write(), all.query("replay", "all").write()]
        })
        .collect();
    settle(&server);
    let grown = server.process.resident_memory().saturating_sub(before);
    assert!(grown < 50 * MEBIBYTE, "80 readers that do not read took {} MiB", grown / MEBIBYTE);
    drop(unread);
    // A client that reads receives each of them once, before what the log holds.
    let mut reader = server.stream("a");
    for number in 0..3000 {
        assert_eq!(reader.next().json()["id"], format!("many-{number}"));
    }
    assert!(reader.next().is_call_of("burst"));
    let mut reader = server.request("GET", "/v1/acp").header("Accept", "text/event-stream").stream();
    for number in 0..3000 {
        let event = reader.until(|event| event.name == "message");
        assert_eq!(event.json()["data"]["id"], format!("many-{number}"));
    }
}

#[test]
fn a_stream_of_many_instances_that_is_read_has_every_event_once_and_in_order() {
    let server = Server::start();
    for id in ["a", "b", "c"] {
        server.open(id, "fault");
        for _ in 0..3 {
            server.tell(id, "emit", json!({"count": 700, "bytes": 400}));
            server.tell(id, "emit", json!({"count": 2, "bytes": 200_000}));
        }
    }
    let mut stream = server.request("GET", "/v1/acp").header("Accept", "text/event-stream").stream();
    let (mut last, mut bursts) = (0, 0);
    while bursts < 3 * 3 * 702 {
        let event = stream.next();
        if let Some(id) = &event.id {
            let position: u64 = id.trim_start_matches('j').parse().unwrap();
            assert!(position > last, "{position} after {last}");
            last = position;
        }
        bursts += usize::from(event.name == "message" && event.json()["data"]["method"] == "burst");
    }
}

/// A server that soon gives up on a client that takes nothing.
fn impatient() -> Server {
    let server = Server::with().flag("--send-timeout", "2s").start();
    server.open("a", "fault");
    server
}

/// Waits until the server has closed the connection. Nothing is read before, since that would let it go on.
#[track_caller]
fn wait_for_the_end(server: &Server, mut connection: TcpStream) {
    let open = || {
        let metrics = server.request("GET", "/metrics").send().expect(200);
        let line = |line: &str| Some(line.strip_prefix("sandbox_agent_http_connections ")?.trim().to_owned());
        metrics.text().lines().find_map(line).unwrap()
    };
    // The only other connection is the one that asks.
    eventually("the connection is closed", || (open() == "1").then_some(()));
    let mut rest = Vec::new();
    let ended = connection.read_to_end(&mut rest);
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
}

#[test]
fn a_client_that_takes_nothing_is_disconnected_whatever_it_asked_for() {
    let server = impatient();
    let stream = server.get("a").query("replay", "none").write();
    server.wait_for("a", "the reader is there", |summary| summary["readers"] == 1);
    server.tell("a", "emit", json!({"count": 20, "bytes": 1_000_000}));
    wait_for_the_end(&server, stream);
    server.wait_for("a", "its reader is gone", |summary| summary["readers"] == 0);
    let post = server.post("a", call(1, "echo", json!("x".repeat(20_000_000)))).write();
    wait_for_the_end(&server, post);
    std::fs::File::create(server.folder().join("large")).unwrap().set_len(1 << 30).unwrap();
    let download = server.request("GET", "/v1/fs/file?path=large").write();
    wait_for_the_end(&server, download);
}

#[test]
fn clients_that_wait_or_read_slowly_are_not_disconnected() {
    let server = impatient();
    let mut idle = server.get("a").query("replay", "none").stream();
    let waiting = server.post("a", call("w", "slow", json!({"ms": 7000}))).start();
    // A small receive buffer, so that each read is soon visible to the server.
    let mut slow = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&slow, 32 << 10).unwrap();
    std::fs::File::create(server.folder().join("large")).unwrap().set_len(1 << 30).unwrap();
    let request = format!("GET /v1/fs/file?path=large HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.port);
    std::io::Write::write_all(&mut slow, request.as_bytes()).unwrap();
    let (began, mut received, mut piece) = (Instant::now(), 0, vec![0; 32 << 10]);
    while began.elapsed() < Duration::from_secs(6) {
        received += slow.read(&mut piece).expect("a slow reader is not disconnected");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(received > 500_000, "{received}");
    waiting.join().unwrap().expect(200);
    assert!(idle.next().answers(&json!("w")), "an idle reader is not disconnected");
}

#[test]
fn connections_are_charged_and_given_back() {
    let server = Server::start();
    let before = server.accounted_memory();
    let idle: Vec<_> = (0..100).map(|_| Request::new(server.port, "GET", &path("none")).write()).collect();
    eventually("they are charged", || (server.accounted_memory() >= before + 100 * (16 << 10)).then_some(()));
    drop(idle);
    eventually("they are given back", || (server.accounted_memory() <= before).then_some(()));
}

//! Requests whose head does not end, from clients without a token.

use std::io::{Read, Write};
use std::net::TcpStream;

use test_harness::{Response, Server, eventually};

const MEBIBYTE: u64 = 1 << 20;

fn with_token() -> Server {
    Server::with().flag("--token", "secret").start()
}

/// Sends the beginning of a head, as much of it as the server takes.
fn unfinished(server: &Server, length: usize) -> TcpStream {
    let mut connection = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    connection.set_nonblocking(true).unwrap();
    let head = format!("GET /v1/acp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Filler: {}", "x".repeat(length));
    let mut rest = head.as_bytes();
    while let Ok(count @ 1..) = connection.write(rest) {
        rest = &rest[count..];
    }
    connection
}

#[test]
fn unfinished_heads_of_many_clients_take_little_memory() {
    let server = with_token();
    let mut largest = 0;
    let mut connections = Vec::new();
    for length in [400_000, 60_000, 6_000] {
        for _ in 0..800 {
            connections.push(unfinished(&server, length));
        }
        eventually("the server has read what it reads", || {
            largest = largest.max(server.process.resident_memory());
            server.has_read_everything().then_some(())
        });
        // Clients with a token are served meanwhile.
        let authorized = || server.request("GET", "/v1/acp").header("Authorization", "Bearer secret");
        authorized().send().expect(200);
        largest = largest.max(server.process.resident_memory());
        connections.clear();
    }
    assert!(largest < 100 * MEBIBYTE, "{} MiB", largest / MEBIBYTE);
    println!("800 unfinished heads: {} MiB", largest / MEBIBYTE);
}

#[test]
fn a_head_that_is_too_long_is_refused_with_a_problem() {
    let server = Server::start();
    let get = |length: usize| server.request("GET", "/v1/acp").header("X-Filler", &"x".repeat(length)).send();
    get(60_000).expect(200);
    let problem = get(80_000).problem(431, "head_too_large");
    assert_eq!(problem["limit"], 65_536, "{problem}");
    server.request("GET", &format!("/v1/acp?x={}", "x".repeat(60_000))).send().expect(200);
    // One that is much longer is not read to its end.
    let mut connection = unfinished(&server, 300_000);
    connection.set_nonblocking(false).unwrap();
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 431 "),
        "{}",
        String::from_utf8_lossy(&answer)
    );
}

#[test]
fn clients_that_were_not_admitted_make_room_for_others() {
    let server = Server::with().flag("--token", "secret").flag("--max-connections", "20").start();
    let mut reader = std::io::BufReader::new(
        server.request("GET", "/v1/acp").header("Authorization", "Bearer secret").write(),
    );
    let first = Response::read(&mut reader).expect(200);
    let idle: Vec<_> = (0..60).map(|_| TcpStream::connect(("127.0.0.1", server.port)).unwrap()).collect();
    for _ in 0..5 {
        server.request("GET", "/v1/acp").header("Authorization", "Bearer secret").send().expect(200);
    }
    // The connection of the client that was admitted is still there.
    let again = b"GET /v1/acp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n\r\n";
    reader.get_mut().write_all(again).unwrap();
    assert_eq!(Response::read(&mut reader).expect(200).body, first.body);
    drop(idle);
}

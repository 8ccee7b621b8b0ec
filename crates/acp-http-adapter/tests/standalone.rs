//! Tests of the standalone adapter: one command for every server id, and no agent to name.

#![allow(clippy::expect_used, reason = "a test may fail loudly")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An agent that answers every line with the same result.
const AGENT: &str = r#"while read line; do echo '{"jsonrpc":"2.0","id":7,"result":{"from":"sh"}}'; done"#;

struct Adapter {
    child: Child,
    address: String,
}

impl Adapter {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_acp-http-adapter"))
            .args(["--port", "0", "--", "sh", "-c", AGENT])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the adapter starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped"))
            .read_line(&mut line)
            .expect("it says where");
        let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
        Self { child, address }
    }

    fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    fn post(&self, path: &str, body: &str) -> String {
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_server_id_runs_the_same_command() {
    let adapter = Adapter::start();
    for id in ["one", "two"] {
        let answer = adapter.post(&format!("/v1/acp/{id}"), r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with(r#"{"jsonrpc":"2.0","id":7,"result":{"from":"sh"}}"#), "{answer}");
    }
    let gone = adapter.send("DELETE /v1/acp/one HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(gone.starts_with("HTTP/1.1 204"), "{gone}");
}

#[test]
fn only_loopback_names_and_pages_of_the_adapter_itself_are_answered() {
    let adapter = Adapter::start();
    let rebound = adapter.send("GET /v1/acp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(rebound.starts_with("HTTP/1.1 403"), "{rebound}");
    let foreign = adapter.send(
        "GET /v1/acp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n",
    );
    assert!(foreign.contains("forbidden_origin"), "{foreign}");
}

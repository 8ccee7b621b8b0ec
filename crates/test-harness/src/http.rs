//! A minimal HTTP/1.1 client, so that a test controls exactly what is sent.
//!
//! Every answer with a status of 400 or above is checked to be a problem document, whatever the test checks
//! afterwards.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use super::sse::Stream;

/// How long a client waits for an answer before the test fails.
const PATIENCE: Duration = Duration::from_secs(50);

/// A request that is sent on its own connection.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    port: u16,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Request {
    pub fn new(port: u16, method: &str, target: &str) -> Self {
        Self { method: method.into(), target: target.into(), port, headers: Vec::new(), body: None }
    }

    /// Adds a header. `Host` and `Content-Type` replace the default ones.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Adds a query parameter.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        let separator = if self.target.contains('?') { '&' } else { '?' };
        self.target = format!("{}{separator}{name}={value}", self.target);
        self
    }

    /// Sends the request and returns the connection.
    pub fn write(&self) -> TcpStream {
        let connection = TcpStream::connect(("127.0.0.1", self.port)).expect("the server takes connections");
        connection.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        connection.set_nodelay(true).expect("the option exists");
        let has = |name: &str| self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !has("host") {
            head.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port));
        }
        if let Some(body) = &self.body {
            if !has("content-type") {
                head.push_str("Content-Type: application/json\r\n");
            }
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut message = head.into_bytes();
        message.extend_from_slice(self.body.as_deref().unwrap_or_default());
        // A server that refuses a large body answers before it has read all of it.
        let _ = (&connection).write_all(&message);
        connection
    }

    /// Sends the request and waits for the answer.
    #[track_caller]
    pub fn send(&self) -> Response {
        Response::read(&mut BufReader::new(self.write()))
    }

    /// Sends the request in a new thread.
    pub fn start(&self) -> JoinHandle<Response> {
        let request = self.clone();
        std::thread::spawn(move || request.send())
    }

    /// Sends the request and reads the answer as a stream of events.
    #[track_caller]
    pub fn stream(&self) -> Stream {
        Stream::open(self.write())
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Headers,
    pub body: Vec<u8>,
}

/// Header lines, in the order received.
#[derive(Debug, Clone, Default)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub fn all(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter()
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

impl Response {
    /// Reads a complete answer.
    #[track_caller]
    pub fn read(connection: &mut impl BufRead) -> Self {
        let (status, headers) = read_head(connection);
        let mut body = Vec::new();
        if headers.get("transfer-encoding") == Some("chunked") {
            while read_chunk(connection, &mut body) {}
        } else if let Some(length) = headers.get("content-length") {
            body.resize(length.parse().expect("a length is a number"), 0);
            connection.read_exact(&mut body).expect("the body is as long as announced");
        }
        let response = Self { status, headers, body };
        if status >= 400 {
            response.check_problem();
        }
        response
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body is UTF-8")
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in the body of a {}: {}", self.status, self.text()))
    }

    /// Asserts the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// Asserts a 202 without a body.
    #[track_caller]
    pub fn expect_accepted(self) -> Self {
        let accepted = self.expect(202);
        assert_eq!(accepted.body, b"", "an accepted message is answered without a body");
        accepted
    }

    /// Asserts this error and returns its problem document.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{text}");
        let problem = self.check_problem();
        assert_eq!(problem["type"], format!("urn:sandbox-agent:error:{code}"), "{text}");
        problem
    }

    /// RFC 9457: every error has a type from the closed list, a title, its own status and a detail.
    #[track_caller]
    fn check_problem(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.headers.get("content-type"), Some("application/problem+json"), "{text}");
        let mut problem = self.json();
        // The request id differs for each request, so it is removed to make problems comparable.
        let request_id = problem.as_object_mut().and_then(|members| members.remove("requestId"));
        let header = self.headers.get("x-request-id");
        assert!(header.is_some() && request_id.as_ref().and_then(Value::as_str) == header, "{text}");
        let kind = problem["type"].as_str().unwrap_or_default();
        let code = kind.strip_prefix("urn:sandbox-agent:error:").unwrap_or_default();
        assert!(!code.is_empty() && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{text}");
        assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()), "{text}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{text}");
        assert_eq!(problem["status"], self.status, "{text}");
        problem
    }
}

/// Reads the status line and the headers.
#[track_caller]
pub(super) fn read_head(connection: &mut impl BufRead) -> (u16, Headers) {
    let status_line = read_line(connection);
    let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status in `{status_line}`"));
    let mut headers = Headers::default();
    loop {
        let line = read_line(connection);
        let Some((name, value)) = line.split_once(':') else { return (status, headers) };
        headers.0.push((name.to_owned(), value.trim().to_owned()));
    }
}

/// Reads one chunk; false for the last one.
pub(super) fn read_chunk(connection: &mut impl BufRead, into: &mut Vec<u8>) -> bool {
    let line = read_line(connection);
    let length = usize::from_str_radix(line.trim(), 16).unwrap_or_else(|_| panic!("no chunk length: {line}"));
    let start = into.len();
    into.resize(start + length, 0);
    connection.read_exact(&mut into[start..]).expect("a chunk is as long as announced");
    read_line(connection);
    length > 0
}

#[track_caller]
fn read_line(connection: &mut impl BufRead) -> String {
    let mut line = String::new();
    connection.read_line(&mut line).expect("the server answers in time");
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    line
}

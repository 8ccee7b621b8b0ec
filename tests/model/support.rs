//! A model on its own port, and a client that reads its events.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The deadline for everything that is awaited.
const DEADLINE: Duration = Duration::from_secs(20);

/// A running model; it stops when it is dropped.
pub(crate) struct Model {
    pub(crate) url: String,
    pub(crate) client: Client,
    _stop: DropGuard,
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    /// Null for `[DONE]`, which is not JSON.
    pub(crate) data: Value,
}

impl Model {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let stop = CancellationToken::new();
        tokio::spawn(scripted_model::serve(listener, stop.clone()));
        // Built together with the product, the client has no default TLS provider, but requires one.
        let _installed_before = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(DEADLINE).no_proxy().build().expect("a client");
        Self { url, client, _stop: stop.drop_guard() }
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.client.post(format!("{}{path}", self.url)).json(body).send().await.expect("an answer")
    }

    /// The answer to a request that succeeds.
    pub(crate) async fn ask(&self, path: &str, body: &Value) -> Value {
        let response = self.post(path, body).await;
        assert_eq!(response.status(), StatusCode::OK);
        response.json().await.expect("JSON")
    }

    /// The events of a request that succeeds.
    pub(crate) async fn events(&self, path: &str, body: &Value) -> Vec<Event> {
        let response = self.post(path, body).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        response.text().await.expect("events").split_terminator("\n\n").filter_map(event).collect()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let response = self.client.get(format!("{}{path}", self.url)).send().await.expect("an answer");
        assert_eq!(response.status(), StatusCode::OK);
        response.json().await.expect("JSON")
    }

    /// Waits until the last request in the journal has ended as `outcome`.
    pub(crate) async fn wait_for_outcome(&self, outcome: &str) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let requests = self.get("/requests").await["requests"].clone();
            let last = requests.as_array().and_then(|requests| requests.last()).cloned().unwrap_or_default();
            if last["outcome"] == outcome {
                return last;
            }
            assert!(Instant::now() < deadline, "the last request never ended as {outcome}: {last}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Reads a stream up to its `count`th event, then closes the connection.
pub(crate) async fn abandon_after(response: Response, count: usize) -> String {
    let mut stream = response.bytes_stream();
    let mut read = String::new();
    while read.matches("\n\n").count() < count {
        let chunk = stream.next().await.expect("more events").expect("bytes");
        read.push_str(std::str::from_utf8(&chunk).expect("text"));
    }
    read
}

fn event(frame: &str) -> Option<Event> {
    let mut name = None;
    let mut data = None;
    for line in frame.lines() {
        match line.split_once(": ") {
            Some(("event", value)) => name = Some(value.to_owned()),
            Some(("data", value)) => data = Some(serde_json::from_str(value).unwrap_or(Value::Null)),
            // The standard allows comments, but not every client of a model can read them.
            _ => panic!("neither a name nor data: {line}"),
        }
    }
    Some(Event { name, data: data? })
}

/// The schema of a shell tool as most agents have it.
pub(crate) fn shell_schema() -> Value {
    json!({"type": "object", "required": ["command"], "properties": {
        "command": {"type": "string"}, "timeout": {"type": "number"}}})
}

/// The texts at `pointer` of all events, joined.
pub(crate) fn joined(events: &[Event], pointer: &str) -> String {
    events.iter().filter_map(|event| event.data.pointer(pointer)?.as_str()).collect()
}

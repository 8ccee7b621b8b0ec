//! Spans reach a collector that the environment names.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use test_harness::rpc::call;
use test_harness::{SOON, Server, ServerBuilder};

const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const UNSAMPLED: &str = "00-aaaabbbbccccddddeeeeffff00001111-00f067aa0ba902b7-00";

/// A collector that stores the received requests.
struct Collector {
    address: String,
    requests: Receiver<(Vec<String>, Value)>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(connection);
                    loop {
                        let head: Vec<String> = (&mut reader)
                            .lines()
                            .map_while(Result::ok)
                            .take_while(|line| !line.is_empty())
                            .map(|line| line.to_lowercase())
                            .collect();
                        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
                        let Some(length) = length.and_then(|length| length.parse().ok()) else { return };
                        let mut body = vec![0; length];
                        reader.read_exact(&mut body).unwrap();
                        let _ = sender.send((head, serde_json::from_slice(&body).unwrap()));
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                        reader.get_mut().write_all(answer).unwrap();
                    }
                });
            }
        });
        Self { address, requests }
    }

    fn builder(&self) -> ServerBuilder {
        Server::with().env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.address).env("NO_PROXY", "127.0.0.1")
    }

    /// Waits for the span of a request.
    #[track_caller]
    fn span_of(&self, request_id: &str) -> (Vec<String>, Value, Value) {
        loop {
            let (head, document) = self.requests.recv_timeout(SOON).expect("the span is exported");
            let resource = document["resourceSpans"][0]["resource"].clone();
            let spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
            if let Some(span) =
                spans.into_iter().find(|span| attribute(span, "sandbox_agent.request_id") == request_id)
            {
                return (head, resource, span);
            }
        }
    }
}

fn attribute(span: &Value, key: &str) -> Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    found.map_or(Value::Null, |found| found["value"]["stringValue"].clone())
}

#[test]
fn a_request_is_exported_as_a_span_of_its_callers_trace_without_secrets() {
    let collector = Collector::start();
    let server = collector
        .builder()
        .env("SANDBOX_AGENT_TOKEN", "secret-token")
        .env("OTEL_SERVICE_NAME", "under-test")
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=k%201")
        .start();
    let post = server.post("a", call(1, "echo", json!({"text": "secret-in-a-body"})));
    post.query("agent", "fault")
        .query("x", "secret-in-a-query")
        .header("Authorization", "Bearer secret-token")
        .header("X-Request-Id", "traced")
        .header("traceparent", TRACEPARENT)
        .header("tracestate", "vendor=1")
        .send()
        .expect(200);
    let (head, resource, span) = collector.span_of("traced");
    assert_eq!(head[0], "post /v1/traces http/1.1");
    assert!(head.contains(&"content-type: application/json".to_owned()), "{head:?}");
    assert!(head.contains(&"x-collector-key: k 1".to_owned()), "{head:?}");
    assert_eq!(attribute(&resource, "service.name"), "under-test");
    assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(span["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!((&span["traceState"], &span["kind"]), (&json!("vendor=1"), &json!(2)));
    assert_eq!(span["name"], "POST /v1/acp/{server_id}");
    assert_eq!(
        (attribute(&span, "http.route"), attribute(&span, "url.path")),
        (json!("/v1/acp/{server_id}"), json!("/v1/acp/a"))
    );
    let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    assert!(time("startTimeUnixNano") < time("endTimeUnixNano"), "{span}");
    assert!(!span.to_string().contains("secret"), "{span}");
}

#[test]
fn unsampled_requests_are_not_exported_and_the_last_spans_are_sent_when_the_server_stops() {
    let collector = Collector::start();
    let mut server = collector.builder().start();
    let health = || server.request("GET", "/v1/health");
    health().header("X-Request-Id", "unsampled").header("traceparent", UNSAMPLED).send().expect(200);
    health().header("X-Request-Id", "alone").send().expect(200);
    server.process.signal("TERM");
    assert!(server.wait_for_end(SOON).success());
    let (_, _, span) = collector.span_of("alone");
    assert!(span.get("parentSpanId").is_none() && span["traceId"].as_str().unwrap().len() == 32, "{span}");
    assert!(collector.requests.try_iter().all(|(_, sent)| !sent.to_string().contains("unsampled")));
}

#[test]
fn a_missing_or_unconfigured_collector_changes_nothing() {
    for address in ["http://127.0.0.1:9", "nonsense"] {
        let server = Server::with().env("OTEL_EXPORTER_OTLP_ENDPOINT", address).start();
        server.open("a", "fault");
        server.delete("a").send().expect(204);
    }
    let server = Server::start();
    server.request("GET", "/v1/health").send().expect(200);
    assert!(!server.log().contains("spans"), "{}", server.log());
}

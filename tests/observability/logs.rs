//! The log: it identifies each request and its outcome, and contains no secrets.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};

use test_harness::rpc::call;
use test_harness::{Request, Server, eventually};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn server(format: &str) -> Server {
    Server::with().flag("--log", "debug").flag("--log-format", format).start()
}

/// The log's one line about a request.
#[track_caller]
fn line_of(server: &Server, request_id: &str) -> Value {
    let found = eventually("the request is logged", || {
        let log = server.log();
        let lines: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .filter(|line: &Value| line["request_id"] == request_id)
            .collect();
        (!lines.is_empty()).then_some(lines)
    });
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn named(request: Request, id: &str) -> Request {
    request.header("X-Request-Id", id)
}

#[test]
fn each_request_is_one_line_with_its_route_outcome_time_and_ids() {
    let server = server("json");
    let post = server.post("a", call(1, "echo", json!({}))).query("agent", "fault");
    named(post, "request-1").header("traceparent", TRACEPARENT).send().expect(200);
    let line = line_of(&server, "request-1");
    assert_eq!(
        (&line["method"], &line["route"], &line["path"]),
        (&json!("POST"), &json!("/v1/acp/{server_id}"), &json!("/v1/acp/a"))
    );
    assert_eq!((&line["status"], &line["trace_id"]), (&json!(200), &json!(TRACE)));
    assert_eq!((&line["level"], &line["message"]), (&json!("DEBUG"), &json!("request")));
    assert!(line["micros"].as_u64().is_some_and(|micros| micros > 0), "{line}");
    assert!(line["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
    assert_eq!(line["code"], Value::Null);

    named(server.request("GET", "/v1/nothing"), "request-2").send().problem(404, "not_found");
    let line = line_of(&server, "request-2");
    assert_eq!(
        (&line["route"], &line["status"], &line["code"], &line["trace_id"]),
        (&json!("unknown"), &json!(404), &json!("not_found"), &Value::Null)
    );
}

#[test]
fn control_characters_of_an_agents_standard_error_are_escaped() {
    let server = server("text");
    let text = "clear\u{1b}[2J back\u{8} over\rwritten c1\u{9b}31m end\n";
    server.post("a", call(1, "stderr", json!({"text": text}))).query("agent", "fault").send().expect(200);
    let line = eventually("the agent's line is logged", || {
        server.log().split('\n').find(|line| line.contains("31m end")).map(str::to_owned)
    });
    assert!(line.contains(r"stderr: clear\u{1b}[2J back\u{8} over\rwritten c1\u{9b}31m end"), "{line:?}");
}

#[test]
fn a_request_without_an_id_is_logged_with_the_id_in_its_answer() {
    let server = server("json");
    let answer = server.request("GET", "/v1/health").send().expect(200);
    assert_eq!(line_of(&server, answer.headers.get("x-request-id").unwrap())["route"], "/v1/health");
    // A problem has it in its body too; the harness checks that for every problem.
    let problem = server.request("GET", "/v1/acp/a").send();
    assert_eq!(problem.json()["requestId"], problem.headers.get("x-request-id").unwrap());
}

#[test]
fn by_default_only_server_errors_are_logged() {
    let server = Server::with().flag("--log-format", "json").start();
    named(server.request("GET", "/v1/health"), "fine").send().expect(200);
    named(server.request("GET", "/v1/nothing"), "their-mistake").send().expect(404);
    server.open("a", "fault");
    let gone = named(server.post("a", call(1, "exit", json!({"code": 1}))), "ours");
    gone.header("traceparent", TRACEPARENT).send().problem(502, "agent_exited");
    let line = line_of(&server, "ours");
    assert_eq!(
        (&line["level"], &line["status"], &line["code"], &line["trace_id"]),
        (&json!("WARN"), &json!(502), &json!("agent_exited"), &json!(TRACE))
    );
    let log = server.log();
    assert!(!log.contains("fine") && !log.contains("their-mistake"), "{log}");
}

#[test]
fn the_text_format_has_the_same_fields() {
    let server = server("text");
    named(server.request("GET", "/v1/health"), "as-text")
        .header("traceparent", TRACEPARENT)
        .send()
        .expect(200);
    let line = eventually("the request is logged", || {
        server.log().lines().find(|line| line.contains("as-text")).map(str::to_owned)
    });
    for part in
        ["method=GET", r#"route="/v1/health""#, "status=200", &format!(r#"trace_id="{TRACE}""#), "micros="]
    {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!line.contains('\u{1b}'), "colours outside a terminal: {line}");
}

#[test]
fn a_traceparent_that_is_not_valid_is_ignored() {
    let server = server("json");
    for (name, bad) in [
        ("short", "00-4bf92f35-00f067aa0ba902b7-01"),
        ("zero", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        ("upper", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
        ("version", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ] {
        named(server.request("GET", "/v1/health"), name).header("traceparent", bad).send().expect(200);
        assert_eq!(line_of(&server, name)["trace_id"], Value::Null, "{bad}");
    }
}

#[test]
fn a_trace_changes_neither_the_message_nor_the_answer_and_is_not_sent_to_the_agent() {
    let server = Server::start();
    server.open("a", "fault");
    let body = r#"{"jsonrpc":"2.0",  "id":1,"method":"received","params":{"z":1,"a":2}}"#;
    let answer = server.post("a", body).header("traceparent", TRACEPARENT).header("tracestate", "x=1").send();
    assert_eq!(answer.json()["result"], body);
    assert!(answer.headers.get("traceparent").is_none() && answer.headers.get("tracestate").is_none());
    assert_eq!(server.tell("a", "env", json!({"name": "TRACEPARENT"})), Value::Null);
}

/// Sends all kinds of secrets in one request, over the given HTTP version.
async fn send_secrets(server: &Server, version: hyper::Version) {
    let body = call("1", "echo", json!({"apiKey": "secret-in-a-body"}));
    let request = hyper::Request::post(format!(
        "http://127.0.0.1:{}/v1/acp/a?agent=fault&x=secret-in-a-query",
        server.port
    ))
    .header("host", format!("127.0.0.1:{}", server.port))
    .header("authorization", "Bearer secret-token")
    .header("x-api-key", "secret-in-a-header")
    .header("cookie", "session=secret-cookie")
    .header("content-type", "application/json")
    .body(Full::<Bytes>::from(body))
    .unwrap();
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let stream = TokioIo::new(stream);
    let answer = if version == hyper::Version::HTTP_2 {
        let (mut sender, driver) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(driver);
        sender.send_request(request).await
    } else {
        let (mut sender, driver) = hyper::client::conn::http1::handshake(stream).await.unwrap();
        tokio::spawn(driver);
        sender.send_request(request).await
    };
    let answer = answer.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(status, 200, "{body:?}");
    assert!(body.windows(16).any(|window| window == b"secret-in-a-body"));
}

#[tokio::test]
async fn no_token_header_query_or_body_is_logged_at_any_level() {
    for format in ["text", "json"] {
        let server = Server::with()
            .env("SANDBOX_AGENT_TOKEN", "secret-token")
            .flag("--log", "trace")
            .flag("--log-format", format)
            .start();
        for version in [hyper::Version::HTTP_11, hyper::Version::HTTP_2] {
            send_secrets(&server, version).await;
        }
        let guess = server.request("GET", "/v1/health").header("Authorization", "Bearer secret-guess");
        guess.send().problem(401, "unauthorized");
        let put = server.request("PUT", "/v1/config/mcp?directory=/&mcpName=m");
        let entry =
            json!({"type": "local", "command": "x", "env": {"KEY": "secret-in-a-config"}}).to_string();
        put.header("Authorization", "Bearer secret-token").body(entry).send().expect(204);
        let log = eventually("the last request is logged", || {
            Some(server.log()).filter(|log| log.contains("/v1/config/mcp"))
        });
        assert!(log.contains("/v1/acp/{server_id}"), "{log}");
        assert!(log.contains("TRACE"), "the server must log at the most verbose level");
        assert!(!log.contains("secret"), "{:?}", log.lines().find(|line| line.contains("secret")));
    }
}

#[test]
fn a_log_that_is_not_read_blocks_nothing_and_what_is_dropped_is_counted() {
    let mut server = Server::with().flag("--log", "trace").unread_log().start();
    server.open("a", "fault");
    let dropped = || {
        let response = server.request("GET", "/metrics").send().expect(200);
        let line = response
            .text()
            .lines()
            .find_map(|line| line.strip_prefix("sandbox_agent_log_lines_dropped_total "));
        line.expect("it is counted").parse::<f64>().expect("a number")
    };
    eventually("the log is full", || {
        for _ in 0..200 {
            server.tell("a", "echo", json!({}));
        }
        (dropped() > 0.0).then_some(())
    });
    // The server still works and still stops.
    server.tell("a", "echo", json!({}));
    server.process.signal("TERM");
    assert_eq!(server.wait_for_end(std::time::Duration::from_secs(10)).code(), Some(0));
}

//! POST, rules 1 to 3: how a message is validated, and which instance receives it.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::{call, path};

const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}"#;

#[test]
fn a_server_id_is_1_to_128_of_the_allowed_characters_and_starts_with_a_letter_or_digit() {
    let server = Server::start();
    for good in ["a", "0", "A.b_c~d-e", &"x".repeat(128)] {
        server.post(good, MESSAGE).query("agent", "fault").send().expect(200);
    }
    for bad in ["-a", ".a", "_a", "~a", "a%20b", "a%2Fb", "%C3%A9", "a+b", "a:b", &"x".repeat(129)] {
        server.post(bad, MESSAGE).query("agent", "fault").send().problem(400, "invalid_server_id");
        server.get(bad).send().problem(400, "invalid_server_id");
        server.delete(bad).send().problem(400, "invalid_server_id");
    }
}

#[test]
fn the_content_type_must_be_json_with_any_parameters() {
    let server = Server::start();
    let post = || server.post("a", MESSAGE).query("agent", "fault");
    for good in ["application/json", "application/json; charset=utf-8", "Application/JSON;x=y"] {
        post().header("Content-Type", good).send().expect(200);
    }
    for bad in ["text/plain", "application/json-rpc", "application/x-www-form-urlencoded", ""] {
        post().header("Content-Type", bad).send().problem(415, "unsupported_media_type");
    }
}

#[test]
fn a_post_without_a_content_type_is_415() {
    let server = Server::start();
    let bare = server.request("POST", "/v1/acp/a?agent=fault").header("Content-Length", "0");
    bare.send().problem(415, "unsupported_media_type");
}

#[test]
fn accept_must_allow_json_if_it_is_present() {
    let server = Server::start();
    let post = || server.post("a", MESSAGE).query("agent", "fault");
    for good in ["application/json", "*/*", "text/html, application/*;q=0.1"] {
        post().header("Accept", good).send().expect(200);
    }
    for bad in ["text/event-stream", "text/html", "*/*, application/json;q=0"] {
        post().header("Accept", bad).send().problem(406, "not_acceptable");
    }
}

#[test]
fn a_body_over_max_message_bytes_is_413_and_one_at_the_limit_is_not() {
    let server = Server::with().flag("--max-message-bytes", "4096").start();
    let sized = |bytes: usize| {
        let empty = call(1, "echo", json!({"filler": ""})).len();
        call(1, "echo", json!({"filler": "x".repeat(bytes - empty)}))
    };
    let problem =
        server.post("a", sized(4097)).query("agent", "fault").send().problem(413, "payload_too_large");
    assert_eq!(problem["limit"], 4096);
    server.post("a", sized(4096)).query("agent", "fault").send().expect(200);
}

#[test]
fn a_chunked_body_over_the_limit_is_413_too() {
    let server = Server::with().flag("--max-message-bytes", "4096").start();
    let mut body = Vec::new();
    for _ in 0..10 {
        body.extend_from_slice(format!("{:x}\r\n{}\r\n", 1000, " ".repeat(1000)).as_bytes());
    }
    body.extend_from_slice(b"0\r\n\r\n");
    let request = server.request("POST", "/v1/acp/a?agent=fault");
    let request = request.header("Content-Type", "application/json").header("Transfer-Encoding", "chunked");
    let mut connection = request.write();
    let _ = std::io::Write::write_all(&mut connection, &body);
    let response = test_harness::Response::read(&mut std::io::BufReader::new(connection));
    response.problem(413, "payload_too_large");
}

#[test]
fn the_body_must_be_one_json_rpc_object() {
    let server = Server::start();
    let post = |body: &[u8]| server.post("a", body).query("agent", "fault").send();
    for not_json in [&b""[..], b"{", b"hello", b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"} trailing", b"{'a':1}"]
    {
        post(not_json).problem(400, "invalid_json");
    }
    post(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").problem(400, "invalid_json");
    for not_a_message in [
        "42",
        "null",
        "\"text\"",
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"echo"}]"#,
        "{}",
        r#"{"id":1,"method":"echo"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"echo"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"echo"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"echo"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"echo"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"echo"}"#,
    ] {
        let problem = post(not_a_message.as_bytes()).problem(400, "invalid_envelope");
        assert!(problem["detail"].as_str().is_some(), "{not_a_message}");
    }
    assert_eq!(server.summary("a"), None, "a refused message created an instance");
}

#[test]
fn the_checks_are_made_in_the_order_content_type_accept_size_envelope_agent() {
    let server = Server::with().flag("--max-message-bytes", "1024").start();
    let long = "x".repeat(2000);
    let post = |body: &str| server.post("a", body);
    let (plain, html) = (("Content-Type", "text/plain"), ("Accept", "text/html"));
    post(&long).header(plain.0, plain.1).header(html.0, html.1).send().problem(415, "unsupported_media_type");
    post(&long).header(html.0, html.1).send().problem(406, "not_acceptable");
    post(&long).send().problem(413, "payload_too_large");
    post("not json").send().problem(400, "invalid_json");
    post(MESSAGE).send().problem(400, "agent_required");
}

#[test]
fn the_first_post_must_name_an_agent() {
    let server = Server::start();
    server.post("a", MESSAGE).send().problem(400, "agent_required");
    server.post("a", MESSAGE).query("agent", "").send().problem(400, "agent_required");
    assert_eq!(server.summary("a"), None);
}

#[test]
fn the_agent_must_be_known() {
    let server = Server::start();
    let problem = server.post("a", MESSAGE).query("agent", "nobody").send().problem(400, "unknown_agent");
    assert_eq!(problem["agent"], "nobody");
    assert_eq!(server.summary("a"), None);
}

#[test]
fn a_known_server_id_needs_no_agent_and_refuses_another_one() {
    let server = Server::start();
    server.open("a", "fault");
    server.post("a", MESSAGE).send().expect(200);
    server.post("a", MESSAGE).query("agent", "fault").send().expect(200);
    let problem = server.post("a", MESSAGE).query("agent", "mock").send().problem(409, "agent_mismatch");
    assert_eq!(problem["agent"], "fault");
    // The request is refused before the agent's existence is checked.
    server.post("a", MESSAGE).query("agent", "nobody").send().problem(409, "agent_mismatch");
}

#[test]
fn an_unsupported_method_is_405_and_lists_the_supported_ones() {
    let server = Server::start();
    for (method, target) in [("PUT", path("a")), ("PATCH", path("a")), ("POST", "/v1/acp".to_owned())] {
        let refused = server.request(method, &target).send();
        refused.problem(405, "method_not_allowed");
        assert!(refused.headers.get("allow").is_some_and(|allow| allow.contains("GET")), "{method} {target}");
    }
}

#[test]
fn a_raw_line_break_inside_a_string_is_not_json_and_never_reaches_the_agent() {
    let server = Server::start();
    server.open("a", "fault");
    for raw in ["\n", "\r", "\r\n", "\0", "\u{1}"] {
        let message = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":\"a{raw}b\"}}");
        server.post("a", message).send().problem(400, "invalid_json");
    }
}

#[test]
fn by_default_a_message_may_have_32_mib_and_a_longer_one_is_refused_before_it_is_sent() {
    let server = Server::start();
    let announce = |length: usize| {
        let request =
            server.request("POST", "/v1/acp/a?agent=fault").header("Content-Type", "application/json");
        request.header("Content-Length", &length.to_string())
    };
    let problem = announce((32 << 20) + 1).send().problem(413, "payload_too_large");
    assert_eq!(problem["limit"], 32 << 20);
}

/// A path that needs decoding is served by the router; other paths take the direct route.
#[test]
fn every_spelling_of_a_path_leads_to_the_same_instance_and_the_same_answers() {
    let server = Server::start();
    server.post("ab", MESSAGE).query("agent", "fault").send().expect(200);
    let requests: [(&str, &[(&str, &str)]); 11] = [
        (MESSAGE, &[]),
        (r#"{"jsonrpc":"2.0","method":"note"}"#, &[]),
        (r#"{"jsonrpc":"2.0","method":"note"}"#, &[("Prefer", "respond-async"), ("Idempotency-Key", "one")]),
        (MESSAGE, &[("Prefer", "respond-async, wait=20")]),
        (MESSAGE, &[("Idempotency-Key", "")]),
        (MESSAGE, &[("Content-Type", "text/plain")]),
        (MESSAGE, &[("Accept", "text/html")]),
        ("{", &[]),
        ("[]", &[]),
        (r#"{"jsonrpc":"2.0"}"#, &[]),
        ("", &[]),
    ];
    for (body, headers) in requests {
        let [lane, router] = ["ab", "%61b"].map(|id| {
            let post = server.post(id, body).header("X-Request-Id", "the-same");
            headers.iter().fold(post, |post, (name, value)| post.header(name, value)).send()
        });
        let shown = |response: &test_harness::Response| {
            let mut head: Vec<_> =
                response.headers.all().filter(|(name, _)| name != "date").cloned().collect();
            head.sort();
            (response.status, head, response.text().to_owned())
        };
        assert_eq!(shown(&lane), shown(&router), "{body} with {headers:?}");
    }
    for query in ["agent=mock", "agent=fault&agent=fault"] {
        let [lane, router] = ["ab", "%61b"]
            .map(|id| server.request("POST", &format!("/v1/acp/{id}?{query}")).body(MESSAGE).send());
        assert_eq!((lane.status, lane.status >= 400), (router.status, true), "{query}");
    }
}

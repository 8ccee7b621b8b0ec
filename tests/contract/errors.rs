//! Section 2 of the contract: every error is a problem document. The HTTP client of this suite checks that
//! for every answer; these tests cover the remaining cases.

use serde_json::json;

use test_harness::Server;

#[test]
fn an_unknown_route_is_a_404_problem_whatever_the_method() {
    let server = Server::start();
    for target in
        ["/nothing", "/v1", "/v1/", "/v1/acp/", "/v1/acp/a/b", "/v2/acp", "/opencode", "/opencode/session"]
    {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            server.request(method, target).send().problem(404, "not_found");
        }
    }
}

#[test]
fn a_wrong_method_is_a_405_problem_with_allow() {
    let server = Server::start();
    for target in ["/", "/healthz", "/readyz", "/v1/health", "/v1/acp"] {
        let refused = server.request("DELETE", target).send();
        refused.problem(405, "method_not_allowed");
        assert!(refused.headers.get("allow").is_some_and(|allow| allow.contains("GET")), "{target}");
    }
}

#[test]
fn a_duplicate_parameter_is_a_400_problem() {
    let server = Server::start();
    server.open("a", "fault");
    for query in ["agent=a&agent=b", "agent=fault&agent=fault"] {
        let request = server.request("POST", &format!("/v1/acp/a?{query}"));
        let response = request.body(r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#).send();
        assert_eq!(response.problem(400, "invalid_parameter")["parameter"], "agent", "{query}");
    }
    server.request("POST", "/v1/acp/%ff").body("{}").send().problem(400, "invalid_server_id");
}

#[test]
fn a_problem_explains_the_fix_and_is_never_cached() {
    let server = Server::start();
    let refused = server.get("nobody").send();
    let problem = refused.problem(404, "unknown_server");
    assert!(problem["detail"].as_str().unwrap().contains("?agent="), "{problem}");
    assert_eq!(refused.headers.get("cache-control"), Some("no-store"));
}

#[test]
fn a_head_request_gets_the_head_of_the_answer_only() {
    let server = Server::start();
    let head =
        std::io::Read::bytes(server.request("HEAD", "/v1/health").header("Connection", "close").write());
    let head: Vec<u8> = head.map_while(Result::ok).collect();
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn every_answer_has_a_request_id_and_a_given_one_is_kept() {
    let server = Server::start();
    let own = server.request("GET", "/v1/health").send().expect(200);
    assert!(own.headers.get("x-request-id").is_some_and(|id| !id.is_empty()), "{:?}", own.headers);
    let given = server.request("GET", "/v1/nothing").header("X-Request-Id", "from-outside-1").send();
    assert_eq!(given.headers.get("x-request-id"), Some("from-outside-1"));
}

#[test]
fn the_health_check_reports_the_server() {
    let server = Server::start();
    let health = server.request("GET", "/v1/health").send().expect(200).json();
    assert_eq!((&health["status"], &health["version"]), (&json!("ok"), &json!(env!("CARGO_PKG_VERSION"))));
    assert!(health["uptimeMs"].as_u64().is_some());
    server.request("GET", "/healthz").send().expect(200);
    server.request("GET", "/readyz").send().expect(200);
    assert_eq!(server.request("GET", "/").send().expect(200).json()["name"], "sandbox-agent");
}

#[test]
fn odd_targets_and_methods_are_answered_with_problems() {
    let server = Server::start();
    for (method, target) in [
        ("FOO", "/v1/acp"),
        ("TRACE", "/v1/acp/a"),
        ("GET", "//v1/acp"),
        ("GET", "/v1/../v1/nothing"),
        ("GET", "/v1/acp/a/../../health"),
        ("GET", "/%00"),
        ("GET", "/v1/acp?view=nonsense"),
    ] {
        let response = server.request(method, target).header("Accept", "text/event-stream").send();
        assert!((400..500).contains(&response.status), "{method} {target}: {}", response.status);
    }
    // Forms of the request target that are meant for proxies only. The server may refuse them, but must not
    // crash.
    for (method, target) in [("OPTIONS", "*"), ("CONNECT", "127.0.0.1:80")] {
        drop(server.request(method, target).write());
    }
    server.request("GET", "/v1/health").send().expect(200);
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

//! Endpoints of older designs: 410 with their replacement.

use test_harness::Server;

const REMOVED: [(&str, &str); 12] = [
    ("/v1/rpc", "/v1/acp/{server_id}"),
    ("/v1/sessions", "/v1/acp"),
    ("/v1/sessions/", "/v1/acp"),
    ("/v1/sessions/abc", "/v1/acp"),
    ("/v1/sessions/abc/messages/stream", "/v1/acp"),
    ("/v1/sessions/abc/events/sse", "/v1/acp"),
    ("/v1/sessions/abc/questions/q1", "session/load over /v1/acp"),
    ("/v1/sessions/abc/questions/q1/reply", "POST /v1/acp/{server_id} with the answer"),
    ("/v1/sessions/abc/questions/q1/reject", "POST /v1/acp/{server_id} with the answer"),
    ("/v1/sessions/abc/permissions/p1/reply", "POST /v1/acp/{server_id} with the answer"),
    // Without the query the answer has no models and no modes.
    ("/v1/agents/claude/models", "GET /v1/agents/{agent}?config=true"),
    ("/v1/agents/claude/modes", "GET /v1/agents/{agent}?config=true"),
];

#[test]
fn removed_endpoints_are_410_for_any_method_and_name_their_replacement() {
    let server = Server::start();
    for (path, replacement) in REMOVED {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let problem = server.request(method, path).send().problem(410, "removed");
            let detail = problem["detail"].as_str().unwrap();
            let start = format!("{path} was removed; use ");
            assert!(detail.starts_with(&start), "{method} {path}: {detail}");
            assert!(detail[start.len()..].contains(replacement), "{method} {path}: {detail}");
        }
    }
}

#[test]
fn removed_endpoints_are_410_whatever_the_body_or_the_query() {
    let server = Server::start();
    let post = server.request("POST", "/v1/rpc?agent=mock").header("Content-Type", "text/plain").body("x");
    post.send().problem(410, "removed");
}

#[test]
fn a_removed_endpoint_requires_the_token_first() {
    let server = Server::with().env("SANDBOX_AGENT_TOKEN", "secret").start();
    for (path, _) in REMOVED {
        server.request("POST", path).send().problem(401, "unauthorized");
        let known = server.request("POST", path).header("Authorization", "Bearer secret");
        known.send().problem(410, "removed");
    }
}

#[test]
fn the_opencode_bridge_is_not_mounted() {
    let server = Server::start();
    server.request("GET", "/opencode/session").send().problem(404, "not_found");
}

//! CORS is off until origins are configured.

use test_harness::{Request, Response, Server};

const PAGE: &str = "https://app.example";

fn preflight(server: &Server, origin: &str) -> Response {
    let request = server.request("OPTIONS", "/v1/acp/a").header("Origin", origin);
    request.header("Access-Control-Request-Method", "POST").send()
}

fn from(server: &Server, origin: &str) -> Request {
    server.request("GET", "/v1/health").header("Origin", origin)
}

fn allowing() -> Server {
    Server::with()
        .env("SANDBOX_AGENT_TOKEN", "t")
        .flag("--cors-allow-origin", PAGE)
        .flag("--cors-allow-origin", "http://localhost:3000")
        .start()
}

#[test]
fn cors_is_off_by_default() {
    let server = Server::with().env("SANDBOX_AGENT_TOKEN", "t").start();
    let answer = from(&server, PAGE).header("Authorization", "Bearer t").send().expect(200);
    assert_eq!(answer.headers.get("access-control-allow-origin"), None);
    assert_eq!(preflight(&server, PAGE).headers.get("access-control-allow-origin"), None);
}

#[test]
fn several_origins_can_be_allowed_and_no_other_is() {
    let server = allowing();
    for origin in [PAGE, "http://localhost:3000"] {
        let answer = from(&server, origin).header("Authorization", "Bearer t").send().expect(200);
        assert_eq!(answer.headers.get("access-control-allow-origin"), Some(origin));
        assert!(answer.headers.get("vary").is_some_and(|vary| vary.contains("Origin")));
    }
    let other = from(&server, "https://other.example").header("Authorization", "Bearer t").send();
    assert_eq!(other.headers.get("access-control-allow-origin"), None);
    assert!(other.headers.get("vary").is_some_and(|vary| vary.contains("Origin")));
}

#[test]
fn a_preflight_needs_no_token_and_names_what_may_be_sent() {
    let server = allowing();
    let answer = preflight(&server, PAGE);
    assert!(answer.status == 200 || answer.status == 204, "{}", answer.status);
    assert_eq!(answer.headers.get("access-control-allow-origin"), Some(PAGE));
    let allowed = answer.headers.get("access-control-allow-headers").unwrap().to_lowercase();
    for header in [
        "authorization",
        "content-type",
        "last-event-id",
        "prefer",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "range",
    ] {
        assert!(allowed.split(',').any(|name| name.trim() == header), "{header} is missing in {allowed}");
    }
    let methods = answer.headers.get("access-control-allow-methods").unwrap();
    for method in ["GET", "POST", "PUT", "DELETE"] {
        assert!(methods.contains(method), "{method} is missing in {methods}");
    }
}

#[test]
fn a_preflight_from_another_origin_gets_no_permission() {
    let server = allowing();
    let answer = preflight(&server, "https://other.example");
    assert_eq!(answer.headers.get("access-control-allow-origin"), None);
}

#[test]
fn a_preflight_has_no_effect() {
    let server = allowing();
    let request = server.request("OPTIONS", "/v1/acp/a?agent=fault").header("Origin", PAGE);
    let request = request.header("Access-Control-Request-Method", "POST");
    request.body(r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#).send();
    let list = server.request("GET", "/v1/acp").header("Authorization", "Bearer t").send().expect(200);
    assert_eq!(list.json()["servers"], serde_json::json!([]));
}

#[test]
fn response_headers_for_pages_are_exposed() {
    let server = allowing();
    let answer = from(&server, PAGE).header("Authorization", "Bearer t").send().expect(200);
    let exposed = answer.headers.get("access-control-expose-headers").unwrap().to_lowercase();
    for header in ["preference-applied", "etag", "retry-after", "content-range"] {
        assert!(exposed.split(',').any(|name| name.trim() == header), "{header} is missing in {exposed}");
    }
}

#[test]
fn errors_have_the_cors_headers_too() {
    let server = allowing();
    let page = |method: &str, target: &str| server.request(method, target).header("Origin", PAGE);
    for refused in [
        page("GET", "/v1/acp").send(),
        page("GET", "/v1/nothing").header("Authorization", "Bearer t").send(),
        page("POST", "/v1/rpc").header("Authorization", "Bearer t").send(),
        page("PUT", "/v1/acp").header("Authorization", "Bearer t").send(),
        page("POST", "/v1/acp/a").header("Authorization", "Bearer t").body("x").send(),
    ] {
        assert!(refused.status >= 400);
        assert_eq!(refused.headers.get("access-control-allow-origin"), Some(PAGE), "{}", refused.text());
        assert!(refused.headers.get("access-control-expose-headers").is_some());
    }
}

#[test]
fn streams_have_the_cors_headers_too() {
    let server = Server::with().flag("--cors-allow-origin", PAGE).start();
    server.open("a", "fault");
    let stream = server.get("a").header("Origin", PAGE).stream();
    assert_eq!(stream.headers.get("access-control-allow-origin"), Some(PAGE));
}

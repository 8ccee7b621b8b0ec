//! The bearer token.

use serde_json::json;

use test_harness::rpc::call;
use test_harness::{Request, Server};

const TOKEN: &str = "correct-horse.battery_staple~9";

fn server() -> Server {
    Server::with().env("SANDBOX_AGENT_TOKEN", TOKEN).start()
}

fn with_token(request: Request) -> Request {
    request.header("Authorization", &format!("Bearer {TOKEN}"))
}

#[test]
fn all_of_v1_and_metrics_require_the_token_even_unknown_and_removed_routes() {
    let server = server();
    for target in [
        "/v1/health",
        "/v1/acp",
        "/v1/acp/a",
        "/v1/agents",
        "/v1/nothing",
        "/v1",
        "/v1/",
        "/v1/rpc",
        "/v1/sessions/x",
        "/v1/fs/file?path=/etc/passwd",
        "/v1/config/mcp",
        "/v1/openapi.json",
        "/metrics",
    ] {
        for method in ["GET", "POST", "DELETE", "OPTIONS"] {
            let refused = server.request(method, target).send();
            refused.problem(401, "unauthorized");
            assert!(refused.headers.get("www-authenticate").is_some_and(|text| text.starts_with("Bearer")));
        }
    }
}

#[test]
fn the_token_is_checked_before_everything_else() {
    let server = server();
    server.post("-bad-", "not json").header("Content-Type", "text/plain").send().problem(401, "unauthorized");
    server.request("POST", "/v1/%2e%2e/x").send().problem(401, "unauthorized");
}

#[test]
fn with_the_token_everything_works() {
    let server = server();
    with_token(server.post("a", call(1, "echo", json!({})))).query("agent", "fault").send().expect(200);
    with_token(server.get("a")).stream().next();
    with_token(server.delete("a")).send().expect(204);
    with_token(server.request("GET", "/v1/nothing")).send().problem(404, "not_found");
}

#[test]
fn the_scheme_is_case_insensitive() {
    let server = server();
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        let request =
            server.request("GET", "/v1/health").header("Authorization", &format!("{scheme} {TOKEN}"));
        request.send().expect(200);
    }
}

#[test]
fn anything_but_the_exact_token_is_401() {
    let server = server();
    let longer = format!("Bearer {TOKEN}x");
    let shorter = format!("Bearer {}", &TOKEN[1..]);
    let twice = format!("Bearer {TOKEN}{TOKEN}");
    let upper = format!("Bearer {}", TOKEN.to_uppercase());
    let basic = format!("Basic {TOKEN}");
    for wrong in [&longer, &shorter, &twice, &upper, &basic, TOKEN, "Bearer", "Bearer ", ""] {
        let request = server.request("GET", "/v1/health").header("Authorization", wrong);
        request.send().problem(401, "unauthorized");
    }
    // A token in the query or in a cookie is not accepted.
    server.request("GET", &format!("/v1/health?token={TOKEN}")).send().problem(401, "unauthorized");
    server
        .request("GET", "/v1/health")
        .header("Cookie", &format!("token={TOKEN}"))
        .send()
        .problem(401, "unauthorized");
}

#[test]
fn health_checks_and_static_files_need_no_token() {
    let server = server();
    for target in ["/healthz", "/readyz", "/"] {
        server.request("GET", target).send().expect(200);
    }
    assert_ne!(server.request("GET", "/ui/").send().status, 401);
}

#[test]
fn the_token_can_come_from_a_file() {
    let builder = Server::with();
    let file = builder.file("token", &format!("{TOKEN}\n"));
    let server = builder.flag("--token-file", file.to_str().unwrap()).start();
    server.request("GET", "/v1/health").send().problem(401, "unauthorized");
    with_token(server.request("GET", "/v1/health")).send().expect(200);
    assert!(!server.log().contains("command line"), "a token in a file must not cause a warning");
}

#[test]
fn a_token_on_the_command_line_works_with_a_warning() {
    let server = Server::with().flag("--token", TOKEN).start();
    server.request("GET", "/v1/health").send().problem(401, "unauthorized");
    with_token(server.request("GET", "/v1/health")).send().expect(200);
    let log = server.log();
    assert!(log.contains("WARN") && log.contains("--token-file"), "{log}");
    assert!(!log.contains(TOKEN), "the token was logged");
}

#[test]
fn with_a_token_any_host_name_and_any_origin_is_allowed() {
    let server = server();
    let request = with_token(server.request("GET", "/v1/health"));
    request.clone().header("Host", "sandbox.example.com").send().expect(200);
    request.header("Origin", "https://elsewhere.example").send().expect(200);
}

#[test]
fn a_token_file_named_by_a_flag_wins_over_a_token_in_the_environment() {
    let builder = Server::with().env("SANDBOX_AGENT_TOKEN", "from-environment");
    let file = builder.file("token", "from-file");
    let server = builder.flag("--token-file", file.to_str().unwrap()).start();
    let ask = |token: &str| {
        server.request("GET", "/v1/health").header("Authorization", &format!("Bearer {token}")).send().status
    };
    assert_eq!((ask("from-file"), ask("from-environment")), (200, 401));
}

#[test]
fn an_empty_token_is_refused() {
    let builder = test_harness::ServerBuilder::new().flag("--host", "0.0.0.0");
    let (status, _) = builder.env("SANDBOX_AGENT_TOKEN", "").refuse_to_start();
    assert!(!status.success());
    let builder = test_harness::ServerBuilder::new();
    let file = builder.file("token", "\n");
    let (status, errors) = builder.flag("--token-file", file.to_str().unwrap()).refuse_to_start();
    assert!(!status.success() && errors.contains("token"), "{errors}");
    let (status, _) =
        test_harness::ServerBuilder::new().flag("--token-file", "/no/such/file").refuse_to_start();
    assert!(!status.success());
}

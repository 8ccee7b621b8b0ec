//! The clients that may use a server without a token.

use test_harness::{Request, Server, ServerBuilder};

fn health(server: &Server) -> Request {
    server.request("GET", "/v1/health")
}

#[test]
fn without_a_token_a_non_loopback_host_is_refused_at_start() {
    for host in ["0.0.0.0", "::"] {
        let (status, errors) = ServerBuilder::new().flag("--host", host).refuse_to_start();
        assert!(!status.success());
        assert!(errors.contains("token") && errors.contains(host), "{errors}");
    }
}

#[test]
fn the_no_token_flag_allows_a_non_loopback_host() {
    let server = Server::with().flag("--host", "0.0.0.0").switch("--no-token").start();
    health(&server).header("Host", "192.0.2.7:2468").send().expect(200);
}

#[test]
fn a_token_allows_any_host() {
    let server = Server::with().flag("--host", "0.0.0.0").env("SANDBOX_AGENT_TOKEN", "t").start();
    health(&server).send().problem(401, "unauthorized");
}

#[test]
fn on_loopback_without_a_token_a_host_that_is_not_a_loopback_name_is_403() {
    let server = Server::start();
    let port = server.port;
    for own in ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.1", "[::1]", "app.localhost", "localhost."] {
        health(&server).header("Host", own).send().expect(200);
        health(&server).header("Host", &format!("{own}:{port}")).send().expect(200);
    }
    for other in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.168.0.1",
        "10.0.0.1",
        "0.0.0.0",
        "[::2]",
        "notlocalhost",
        "localhost@evil.example",
        "127.0.0.1@evil.example",
    ] {
        health(&server).header("Host", &format!("{other}:{port}")).send().problem(403, "forbidden_host");
    }
    // An absolute request target contains a host, which takes precedence.
    let absolute = server.request("GET", "http://evil.example/v1/health");
    absolute.send().problem(403, "forbidden_host");
}

#[test]
fn a_foreign_origin_is_403_without_a_token() {
    let server = Server::start();
    let port = server.port;
    let ask = |origin: &str| health(&server).header("Origin", origin);
    ask(&format!("http://127.0.0.1:{port}")).send().expect(200);
    for foreign in [
        "https://evil.example".to_owned(),
        "null".to_owned(),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{}", port.wrapping_add(1)),
        "http://127.0.0.1".to_owned(),
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{port}.evil.example"),
        "garbage".to_owned(),
    ] {
        ask(&foreign).send().problem(403, "forbidden_origin");
    }
    let own = health(&server).header("Host", &format!("localhost:{port}"));
    own.header("Origin", &format!("http://localhost:{port}")).send().expect(200);
}

#[test]
fn a_foreign_origin_is_403_without_a_token_on_any_host() {
    let server = Server::with().flag("--host", "0.0.0.0").switch("--no-token").start();
    health(&server).header("Origin", "https://evil.example").send().problem(403, "forbidden_origin");
    health(&server).header("Origin", "null").send().problem(403, "forbidden_origin");
}

#[test]
fn a_cross_site_or_same_site_fetch_is_403_without_a_token() {
    let server = Server::start();
    for site in ["cross-site", "same-site"] {
        health(&server).header("Sec-Fetch-Site", site).send().problem(403, "forbidden_origin");
    }
    for site in ["same-origin", "none"] {
        health(&server).header("Sec-Fetch-Site", site).send().expect(200);
    }
}

#[test]
fn an_allowed_origin_needs_no_token() {
    let server = Server::with().flag("--cors-allow-origin", "http://localhost:3000").start();
    let ask = |origin: &str| health(&server).header("Origin", origin).header("Sec-Fetch-Site", "cross-site");
    ask("http://localhost:3000").send().expect(200);
    ask("http://localhost:3001").send().problem(403, "forbidden_origin");
    ask("null").send().problem(403, "forbidden_origin");
}

#[test]
fn a_page_on_another_port_cannot_start_an_agent() {
    let server = Server::start();
    let post = server.post("a", r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#).query("agent", "fault");
    post.header("Origin", "http://127.0.0.1:8080").send().problem(403, "forbidden_origin");
    assert_eq!(server.summary("a"), None);
}

#[test]
fn every_origin_without_a_token_is_refused_at_start() {
    let (status, errors) = ServerBuilder::new().flag("--cors-allow-origin", "*").refuse_to_start();
    assert!(!status.success() && errors.contains("token"), "{errors}");
}

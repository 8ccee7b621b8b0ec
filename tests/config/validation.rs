//! Refused requests, and how the answer names the invalid part.

use reqwest::Method;

use crate::entries::{mcp, put, skills};
use test_harness::files::{Answer, Server};

#[tokio::test]
async fn every_parameter_is_required_and_a_missing_one_is_named() {
    let server = Server::start();
    for (target, parameter) in [
        ("/v1/config/mcp?mcpName=x", "directory"),
        ("/v1/config/mcp?directory=&mcpName=x", "directory"),
        ("/v1/config/mcp?directory=/app", "mcpName"),
        ("/v1/config/mcp?directory=/app&mcpName=", "mcpName"),
        ("/v1/config/mcp?directory=/app&skillName=x", "mcpName"),
        ("/v1/config/mcp?directory=/app&mcpName=x&mcpName=y", "mcpName"),
        ("/v1/config/mcp?directory=/app&mcpName=a%0Ab", "mcpName"),
        ("/v1/config/mcp?directory=/a%00b&mcpName=x", "directory"),
        ("/v1/config/skills?directory=/app", "skillName"),
        ("/v1/config/skills?skillName=x", "directory"),
    ] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let request = server.request(method.clone(), target).header("content-type", "application/json");
            let answer = Answer::of(request.body(r#"{"type":"local","command":"x"}"#)).await;
            let problem = answer.problem(400, "invalid_parameter");
            assert_eq!(problem["parameter"], parameter, "{method} {target}");
            assert!(problem["detail"].as_str().unwrap().contains(parameter), "{problem}");
        }
    }
    for target in ["/v1/config/mcp/entries", "/v1/config/skills/entries?directory="] {
        assert_eq!(server.get(target).await.problem(400, "invalid_parameter")["parameter"], "directory");
    }
}

#[tokio::test]
async fn an_invalid_field_is_named_and_nothing_is_stored() {
    let server = Server::start();
    for (body, field) in [
        (r#"{"command":"x"}"#, "type"),
        (r#"{"type":"neither"}"#, "type"),
        (r#"{"type":"local"}"#, "command"),
        (r#"{"type":"local","command":"x","args":["a",1]}"#, "args[1]"),
        (r#"{"type":"local","command":"x","timeoutMs":-1}"#, "timeoutMs"),
        (r#"{"type":"local","command":"x","enabled":"yes"}"#, "enabled"),
        (r#"{"type":"remote"}"#, "url"),
        (r#"{"type":"remote","url":"file:///etc/passwd"}"#, "url"),
        (r#"{"type":"remote","url":"http://x","transport":"smoke"}"#, "transport"),
        (r#"{"type":"remote","url":"http://x","headers":{"X-Team":1}}"#, "headers.X-Team"),
        ("[]", "entry"),
    ] {
        let problem = put(&server, &mcp("/app", "x"), body).await.problem(400, "invalid_config");
        assert_eq!(problem["field"], field, "{body}");
        assert!(problem["detail"].as_str().unwrap().contains(field), "{problem}");
    }
    server.get(&mcp("/app", "x")).await.problem(404, "config_not_found");
    for (body, field) in [
        ("{}", "sources"),
        (r#"{"sources":[{"type":"svn","source":"x"}]}"#, "sources[0].type"),
        (r#"{"sources":[{"type":"git","source":"x"},{"type":"git"}]}"#, "sources[1].source"),
    ] {
        let problem = put(&server, &skills("/app", "x"), body).await.problem(400, "invalid_config");
        assert_eq!(problem["field"], field, "{body}");
    }
    server.get(&skills("/app", "x")).await.problem(404, "config_not_found");
}

#[tokio::test]
async fn a_body_must_be_json_with_its_content_type_and_be_small() {
    let server = Server::start();
    for body in ["", "{", "\u{feff}{}", "{} {}"] {
        put(&server, &mcp("/app", "x"), body).await.problem(400, "invalid_json");
    }
    let untyped = Answer::of(server.request(Method::PUT, &mcp("/app", "x")).body("{}")).await;
    untyped.problem(415, "unsupported_media_type");
    let typed = server.request(Method::PUT, &mcp("/app", "x")).header("content-type", "text/yaml").body("{}");
    Answer::of(typed).await.problem(415, "unsupported_media_type");
    // Far larger than the limit: the answer still arrives.
    let huge = vec![b' '; 30 << 20];
    put(&server, &mcp("/app", "x"), huge).await.problem(413, "payload_too_large");
    let large = format!(r#"{{"type":"local","command":"{}"}}"#, "x".repeat(1 << 20));
    let problem = put(&server, &mcp("/app", "x"), large).await.problem(413, "payload_too_large");
    assert_eq!(problem["limit"], 1 << 20);
}

#[tokio::test]
async fn an_unsupported_method_is_a_problem() {
    let server = Server::start();
    server.post(&mcp("/app", "x")).await.problem(405, "method_not_allowed");
    server.delete("/v1/config/mcp/entries?directory=/app").await.problem(405, "method_not_allowed");
    server.get("/v1/config/other?directory=/app").await.problem(404, "not_found");
}

#[tokio::test]
async fn a_damaged_file_is_reported_and_not_changed() {
    let server = Server::start();
    assert_eq!(put(&server, &mcp("/app", "x"), r#"{"type":"local","command":"x"}"#).await.status, 204);
    let is_json = |path: &std::path::Path| path.extension().is_some_and(|extension| extension == "json");
    let folder = server.data().join("config");
    let file =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).find(|path| is_json(path));
    let file = file.unwrap();
    std::fs::write(&file, "{\"version\":1,").unwrap();
    server.get(&mcp("/app", "x")).await.problem(500, "internal");
    put(&server, &mcp("/app", "x"), r#"{"type":"local","command":"y"}"#).await.problem(500, "internal");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"version\":1,");
}

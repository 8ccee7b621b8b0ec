//! Storing, reading, listing and removing.

use reqwest::Method;
use serde_json::json;

use test_harness::files::{Answer, Options, Server, query};

/// The address of an entry.
pub(crate) fn mcp(directory: &str, name: &str) -> String {
    format!("/v1/config/mcp{}", query(&[("directory", directory), ("mcpName", name)]))
}

/// The address of an entry.
pub(crate) fn skills(directory: &str, name: &str) -> String {
    format!("/v1/config/skills{}", query(&[("directory", directory), ("skillName", name)]))
}

/// Stores a body unchanged.
pub(crate) async fn put(server: &Server, target: &str, body: impl Into<reqwest::Body>) -> Answer {
    let request = server.request(Method::PUT, target).header("content-type", "application/json");
    Answer::of(request.body(body)).await
}

#[tokio::test]
async fn an_entry_is_returned_byte_for_byte_including_unknown_fields() {
    let server = Server::start();
    let text = r#"{"z":1.50,"type":"remote","url":"https://example.com/mcp","transport":"sse","huge":123456789012345678901234567890,"headers":{"X-A":"\u0041"}}"#;
    let stored = put(&server, &mcp("/app", "docs"), text).await;
    assert_eq!((stored.status, stored.body.len()), (204, 0));
    let found = server.get(&mcp("/app", "docs")).await;
    found.json();
    assert_eq!(found.text(), text);

    let text = r#"{"sources":[{"type":"github","source":"owner/repository","ref":"main","skills":["a"],"new":null}]}"#;
    assert_eq!(put(&server, &skills("/app", "team"), text).await.status, 204);
    assert_eq!(server.get(&skills("/app", "team")).await.text(), text);
}

#[tokio::test]
async fn a_put_replaces_and_a_delete_removes_and_both_can_be_repeated() {
    let server = Server::start();
    let target = mcp("/app", "one");
    for command in ["first", "second"] {
        let body = json!({"type": "local", "command": command}).to_string();
        assert_eq!(put(&server, &target, body).await.status, 204);
    }
    assert_eq!(server.get(&target).await.json()["command"], "second");
    for _ in 0..2 {
        assert_eq!(server.delete(&target).await.status, 204);
    }
    let problem = server.get(&target).await.problem(404, "config_not_found");
    assert!(problem["detail"].as_str().unwrap().contains("one"), "{problem}");
}

#[tokio::test]
async fn mcp_skills_and_directories_are_independent() {
    let server = Server::start();
    let local = r#"{"type":"local","command":"x"}"#;
    assert_eq!(put(&server, &mcp("/app", "same"), local).await.status, 204);
    server.get(&skills("/app", "same")).await.problem(404, "config_not_found");
    server.get(&mcp("/app2", "same")).await.problem(404, "config_not_found");
    assert_eq!(server.delete(&skills("/app", "same")).await.status, 204);
    assert_eq!(server.get(&mcp("/app", "same")).await.text(), local);
}

#[tokio::test]
async fn a_directory_lists_all_of_its_entries_by_name() {
    let server = Server::start();
    let list = |kind: &str, directory: &str| {
        format!("/v1/config/{kind}/entries{}", query(&[("directory", directory)]))
    };
    assert_eq!(server.get(&list("mcp", "/empty")).await.json(), json!({"entries": {}}));
    for name in ["b", "a", "with space & more"] {
        let body = json!({"type": "local", "command": name}).to_string();
        assert_eq!(put(&server, &mcp("/app", name), body).await.status, 204);
    }
    let body = json!({"sources": [{"type": "local", "source": "./skills"}]});
    assert_eq!(put(&server, &skills("/app", "s"), body.to_string()).await.status, 204);
    let expected = json!({"entries": {
        "a": {"type": "local", "command": "a"},
        "b": {"type": "local", "command": "b"},
        "with space & more": {"type": "local", "command": "with space & more"},
    }});
    assert_eq!(server.get(&list("mcp", "/app")).await.json(), expected);
    assert_eq!(server.get(&list("skills", "/app")).await.json(), json!({"entries": {"s": body}}));
}

#[tokio::test]
async fn all_spellings_of_a_directory_are_one_and_relative_paths_start_at_the_workspace() {
    let server = Server::start();
    let absolute = server.shown("project");
    assert_eq!(put(&server, &mcp("project", "x"), r#"{"type":"local","command":"x"}"#).await.status, 204);
    for spelling in ["project/", "./project", "other/../project", &absolute, &format!("{absolute}//")] {
        assert_eq!(server.get(&mcp(spelling, "x")).await.status, 200, "{spelling}");
    }
    server.get(&mcp("/project", "x")).await.problem(404, "config_not_found");
}

#[tokio::test]
async fn configuration_needs_the_token() {
    let server = Server::start_with(&Options::flags(["--token", "secret"]));
    let list = "/v1/config/mcp/entries?directory=/app";
    for target in [mcp("/app", "x"), skills("/app", "x"), list.to_owned()] {
        let refused = server.get(&target).await;
        refused.problem(401, "unauthorized");
        assert!(refused.header("www-authenticate").starts_with("Bearer"));
    }
    put(&server, &mcp("/app", "x"), r#"{"type":"local","command":"x"}"#).await.problem(401, "unauthorized");
    server.delete(&mcp("/app", "x")).await.problem(401, "unauthorized");
    let allowed = Answer::of(server.request(Method::GET, list).bearer_auth("secret")).await;
    assert_eq!(allowed.json(), json!({"entries": {}}));
}

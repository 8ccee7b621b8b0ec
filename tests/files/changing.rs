//! `DELETE /v1/fs/entry`, `POST /v1/fs/mkdir` and `POST /v1/fs/move`.

use std::os::unix::fs::symlink;

use reqwest::Method;
use serde_json::json;

use test_harness::files::{Answer, Server, names, query};

fn entry(path: &str, recursive: &str) -> String {
    format!("/v1/fs/entry{}", query(&[("path", path), ("recursive", recursive)]))
}

fn mkdir(path: &str) -> String {
    format!("/v1/fs/mkdir{}", query(&[("path", path)]))
}

#[tokio::test]
async fn an_entry_is_removed_and_a_non_empty_directory_only_recursively() {
    let server = Server::start();
    server.put("a/b/c", "x").await.json();
    let refused = server.delete(&entry("a", "false")).await.problem(409, "not_empty");
    assert_eq!(refused["path"], server.shown("a"));
    assert_eq!(server.delete(&entry("a/b/c", "false")).await.json(), json!({"path": server.shown("a/b/c")}));
    assert_eq!(server.delete(&entry("a/b", "false")).await.status, 200);
    server.put("a/b/c", "x").await.json();
    assert_eq!(server.delete(&entry("a", "true")).await.json(), json!({"path": server.shown("a")}));
    assert_eq!(names(&server.workspace()), [""; 0]);
    server.delete(&entry("a", "true")).await.problem(404, "file_not_found");
    server.delete(&entry("a", "maybe")).await.problem(400, "invalid_parameter");
}

#[tokio::test]
async fn a_link_is_removed_and_its_target_stays() {
    let server = Server::start();
    server.put("real/file", "x").await.json();
    symlink("real", server.at("link")).unwrap();
    assert_eq!(server.delete(&entry("link", "true")).await.status, 200);
    assert_eq!(names(&server.workspace()), ["real"]);
    assert_eq!(server.read("real/file").await.text(), "x");
}

#[tokio::test]
async fn the_workspace_itself_is_not_removed() {
    let server = Server::start();
    server.put("file", "x").await.json();
    let above = server.workspace().parent().unwrap().to_str().unwrap().to_owned();
    for path in [&server.shown(""), &above, "."] {
        server.delete(&entry(path, "true")).await.problem(403, "permission_denied");
    }
    assert_eq!(server.read("file").await.text(), "x");
}

#[tokio::test]
async fn a_directory_is_created_with_its_parents_and_may_exist_already() {
    let server = Server::start();
    for _ in 0..2 {
        assert_eq!(server.post(&mkdir("a/b/c")).await.json(), json!({"path": server.shown("a/b/c")}));
    }
    assert!(server.at("a/b/c").is_dir());
    server.put("file", "x").await.json();
    server.post(&mkdir("file")).await.problem(409, "already_exists");
    server.post(&mkdir("file/below")).await.problem(409, "wrong_kind");
    symlink("nowhere", server.at("dangling")).unwrap();
    server.post(&mkdir("dangling")).await.problem(409, "already_exists");
}

#[tokio::test]
async fn an_entry_is_renamed() {
    let server = Server::start();
    server.put("a/file", "content").await.json();
    let moved = server.move_entry(&json!({"from": "a", "to": "b"})).await.json();
    assert_eq!(moved, json!({"from": server.shown("a"), "to": server.shown("b")}));
    assert_eq!(server.read("b/file").await.text(), "content");
    assert_eq!(names(&server.workspace()), ["b"]);
    // Moving an entry onto itself, however spelled, changes nothing.
    for to in ["b/file", "./b//file", &server.shown("b/file")] {
        assert_eq!(server.move_entry(&json!({"from": "b/file", "to": to})).await.status, 200);
    }
    assert_eq!(server.read("b/file").await.text(), "content");
}

#[tokio::test]
async fn a_move_replaces_nothing_unless_requested() {
    let server = Server::start();
    server.put("one", "1").await.json();
    server.put("two", "2").await.json();
    server.put("folder/inner", "3").await.json();
    let refused =
        server.move_entry(&json!({"from": "one", "to": "two"})).await.problem(409, "already_exists");
    assert_eq!(refused["path"], server.shown("two"));
    server
        .move_entry(&json!({"from": "one", "to": "two", "overwrite": null}))
        .await
        .problem(409, "already_exists");
    server
        .move_entry(&json!({"from": "one", "to": "folder", "overwrite": true}))
        .await
        .problem(409, "wrong_kind");
    server
        .move_entry(&json!({"from": "folder", "to": "one", "overwrite": true}))
        .await
        .problem(409, "wrong_kind");
    assert_eq!(server.read("folder/inner").await.text(), "3");
    let moved = server.move_entry(&json!({"from": "one", "to": "two", "overwrite": true})).await;
    assert_eq!(moved.status, 200);
    assert_eq!(server.read("two").await.text(), "1");
    server.read("one").await.problem(404, "file_not_found");
}

#[tokio::test]
async fn a_directory_is_not_moved_into_itself() {
    let server = Server::start();
    server.put("a/b/file", "x").await.json();
    symlink("a/b", server.at("inside")).unwrap();
    for to in ["a/b/new", "a/new", "inside/new"] {
        let problem =
            server.move_entry(&json!({"from": "a", "to": to})).await.problem(400, "move_into_itself");
        assert_eq!(problem["from"], server.shown("a"));
    }
    assert_eq!(server.read("a/b/file").await.text(), "x");
    server.move_entry(&json!({"from": "none", "to": "b"})).await.problem(404, "file_not_found");
    server.move_entry(&json!({"from": "a", "to": "no/such/parent"})).await.problem(404, "file_not_found");
    let workspace = server.workspace();
    let outside = workspace.parent().unwrap().join("elsewhere");
    server.move_entry(&json!({"from": workspace, "to": outside})).await.problem(403, "permission_denied");
}

#[tokio::test]
async fn the_body_of_a_move_is_checked_field_by_field() {
    let server = Server::start();
    server.put("a", "x").await.json();
    for (body, field) in [
        (json!({"to": "b"}), "from"),
        (json!({"from": "a"}), "to"),
        (json!({"from": 1, "to": "b"}), "from"),
        (json!({"from": "a", "to": ""}), "to"),
        (json!({"from": "a", "to": null}), "to"),
        (json!({"from": "a", "to": "b", "overwrite": "yes"}), "overwrite"),
    ] {
        let problem = server.move_entry(&body).await.problem(400, "invalid_field");
        assert_eq!(problem["field"], field, "{body}");
        assert!(problem["detail"].as_str().unwrap().contains(field));
    }
    let unusable = server.move_entry(&json!({"from": "a", "to": "b\0"})).await.problem(400, "invalid_path");
    assert_eq!(unusable["field"], "to");
    let send = |media_type: &str, body: String| {
        Answer::of(server.request(Method::POST, "/v1/fs/move").header("content-type", media_type).body(body))
    };
    send("application/json", "{".to_owned()).await.problem(400, "invalid_json");
    send("application/json", "[]".to_owned()).await.problem(400, "invalid_json");
    send("text/plain", "{}".to_owned()).await.problem(415, "unsupported_media_type");
    let long = json!({"from": "a", "to": "x".repeat(100_000)}).to_string();
    send("application/json", long).await.problem(413, "payload_too_large");
    assert_eq!(names(&server.workspace()), ["a"]);
}

//! `GET /v1/fs/entries` and `GET /v1/fs/stat`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use reqwest::Method;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use test_harness::files::{Answer, Server, query};

fn entries(pairs: &[(&str, &str)]) -> String {
    format!("/v1/fs/entries{}", query(pairs))
}

fn stat(path: &str) -> String {
    format!("/v1/fs/stat{}", query(&[("path", path)]))
}

fn column(list: &Value, name: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| entry[name].as_str().unwrap().to_owned()).collect()
}

/// Creates one entry of each kind, with unsorted names.
fn populate(server: &Server) {
    std::fs::write(server.at("b.txt"), "12345").unwrap();
    std::fs::create_dir_all(server.at("a/inner")).unwrap();
    std::fs::write(server.at("a/inner/deep"), "").unwrap();
    symlink("b.txt", server.at("link")).unwrap();
    mknodat(CWD, server.at("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
}

#[tokio::test]
async fn the_workspace_is_listed_sorted_with_the_kind_of_each_entry() {
    let server = Server::start();
    populate(&server);
    let list = server.get("/v1/fs/entries").await.json();
    assert_eq!(column(&list, "name"), ["a", "b.txt", "fifo", "link"]);
    assert_eq!(column(&list, "entryType"), ["directory", "file", "other", "symlink"]);
    assert_eq!(column(&list, "path")[1], server.shown("b.txt"));
    assert_eq!(list[1]["size"], 5);
    for modified in column(&list, "modified") {
        // 2026-11-15T09:09:39.059224563Z
        assert!(modified.starts_with("20") && modified.ends_with('Z'), "{modified}");
        assert_eq!((&modified[4..5], &modified[10..11], &modified[13..14]), ("-", "T", ":"), "{modified}");
    }
    let mut keys: Vec<_> = list[0].as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["entryType", "modified", "name", "path", "size"]);
}

#[tokio::test]
async fn relative_and_absolute_paths_and_links_name_the_same_directory() {
    let server = Server::start();
    populate(&server);
    symlink("a", server.at("to-a")).unwrap();
    for path in ["a", "./a/", &server.shown("a"), "to-a"] {
        let list = server.get(&entries(&[("path", path)])).await.json();
        assert_eq!(column(&list, "name"), ["inner"], "{path}");
    }
}

#[tokio::test]
async fn a_recursive_listing_is_complete_and_pages_are_linked() {
    let server = Server::start();
    populate(&server);
    std::fs::write(server.at("a/name with ü & =.txt"), "").unwrap();
    let all = server.get(&entries(&[("recursive", "true")])).await;
    assert!(!all.headers.contains_key("link"), "a complete listing must have no next page");
    let all = column(&all.json(), "path");
    assert_eq!(all.len(), 7);

    let mut found = Vec::new();
    let mut target = entries(&[("path", "."), ("recursive", "true"), ("limit", "2")]);
    for _ in 0..all.len() {
        let page = server.get(&target).await;
        let paths = column(&page.json(), "path");
        assert!(paths.len() <= 2 && !paths.is_empty());
        found.extend(paths);
        let Some(link) = page.headers.get("link") else { break };
        let link = link.to_str().unwrap();
        target = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned();
    }
    assert_eq!(found, all);
}

#[tokio::test]
async fn a_name_that_is_not_utf_8_can_be_percent_encoded() {
    let server = Server::start();
    let written = server.request(Method::PUT, "/v1/fs/file?path=%ff%20name").body("content");
    assert_eq!(Answer::of(written).await.status, 200);
    let names: Vec<_> =
        std::fs::read_dir(server.workspace()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [OsString::from_vec(b"\xff name".to_vec())]);
    assert_eq!(column(&server.get("/v1/fs/entries").await.json(), "name"), ["\u{fffd} name"]);
    assert_eq!(server.get("/v1/fs/file?path=%FF+name").await.text(), "content");
    assert_eq!(server.delete("/v1/fs/entry?path=%ff%20name").await.status, 200);
}

#[tokio::test]
async fn a_listing_refuses_invalid_requests() {
    let server = Server::start();
    populate(&server);
    let missing = server.get(&entries(&[("path", "none")])).await.problem(404, "file_not_found");
    assert_eq!(missing["path"], server.shown("none"));
    server.get(&entries(&[("path", "b.txt")])).await.problem(409, "wrong_kind");
    server.get(&entries(&[("path", "b.txt/x")])).await.problem(409, "wrong_kind");
    for (name, value) in
        [("limit", "0"), ("limit", "-1"), ("limit", "x"), ("recursive", "maybe"), ("after", "zz")]
    {
        let problem = server.get(&entries(&[(name, value)])).await.problem(400, "invalid_parameter");
        assert_eq!(problem["parameter"], name, "{value}");
    }
}

#[tokio::test]
async fn stat_returns_kind_size_time_and_octal_mode() {
    let server = Server::start();
    populate(&server);
    std::fs::set_permissions(server.at("b.txt"), std::fs::Permissions::from_mode(0o4640)).unwrap();
    let mut metadata = server.get(&stat("b.txt")).await.json();
    assert!(metadata["modified"].take().as_str().unwrap().ends_with('Z'));
    let expected = json!({"path": server.shown("b.txt"), "entryType": "file", "size": 5, "modified": null, "mode": "4640"});
    assert_eq!(metadata, expected);
    assert_eq!(server.get(&stat("a")).await.json()["entryType"], "directory");
    assert_eq!(server.get(&stat("fifo")).await.json()["entryType"], "other");
}

#[tokio::test]
async fn stat_describes_a_link_and_not_its_target() {
    let server = Server::start();
    symlink("nowhere", server.at("dangling")).unwrap();
    let metadata = server.get(&stat("dangling")).await.json();
    assert_eq!((&metadata["entryType"], &metadata["size"]), (&json!("symlink"), &json!("nowhere".len())));
    server.get(&stat("missing")).await.problem(404, "file_not_found");
    std::fs::write(server.at("file"), "").unwrap();
    server.get(&stat("file/below")).await.problem(409, "wrong_kind");
}

//! `PUT /v1/fs/file`.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use reqwest::Method;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use test_harness::files::{Answer, Options, Server, file, names};

#[tokio::test]
async fn a_body_becomes_a_file_with_its_parents() {
    let server = Server::start();
    let answer = server.put("new/deep/a.txt", "hello").await.json();
    assert_eq!(answer, json!({"path": server.shown("new/deep/a.txt"), "bytesWritten": 5}));
    assert_eq!(std::fs::read(server.at("new/deep/a.txt")).unwrap(), b"hello");
    let empty = server.put("empty", "").await.json();
    assert_eq!(empty["bytesWritten"], 0);
    assert_eq!(names(&server.workspace()), ["empty", "new"]);
}

#[tokio::test]
async fn a_body_of_unknown_length_is_written_as_it_arrives() {
    let server = Server::start();
    let pieces = (0..2000).map(|_| Ok::<_, std::io::Error>(vec![b'x'; 1000]));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    assert_eq!(server.put("a", body).await.json()["bytesWritten"], 2_000_000);
    assert_eq!(std::fs::read(server.at("a")).unwrap(), vec![b'x'; 2_000_000]);
}

#[tokio::test]
async fn a_replaced_file_keeps_its_mode_and_a_link_is_followed() {
    let server = Server::start();
    std::fs::write(server.at("script"), "old").unwrap();
    std::fs::set_permissions(server.at("script"), std::fs::Permissions::from_mode(0o750)).unwrap();
    symlink("script", server.at("link")).unwrap();
    server.put("link", "new").await.json();
    assert_eq!(std::fs::read_to_string(server.at("script")).unwrap(), "new");
    assert_eq!(server.at("script").metadata().unwrap().mode() & 0o7777, 0o750);
    assert!(server.at("link").is_symlink());
}

#[tokio::test]
async fn a_file_with_hard_links_is_written_in_place_and_reported_as_such() {
    let server = Server::start();
    std::fs::write(server.at("one"), "old and longer").unwrap();
    std::fs::hard_link(server.at("one"), server.at("two")).unwrap();
    let answer = server.put("one", "new").await.json();
    assert_eq!(answer, json!({"path": server.shown("one"), "bytesWritten": 3, "atomic": false}));
    assert_eq!(std::fs::read_to_string(server.at("two")).unwrap(), "new");
}

#[tokio::test]
async fn only_a_regular_file_can_be_written() {
    let server = Server::start();
    std::fs::create_dir(server.at("directory")).unwrap();
    std::fs::write(server.at("file"), "kept").unwrap();
    mknodat(CWD, server.at("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    for path in ["directory", "fifo", "file/below"] {
        server.put(path, "x").await.problem(409, "wrong_kind");
    }
    server.put("ends/with/slash/", "x").await.problem(400, "invalid_path");
    assert_eq!(names(&server.workspace()), ["directory", "fifo", "file"]);
    assert_eq!(std::fs::read(server.at("file")).unwrap(), b"kept");
}

#[tokio::test]
async fn the_limit_applies_to_announced_and_to_streamed_bodies() {
    let server = Server::start_with(&Options::flags(["--max-upload-bytes", "1MiB"]));
    server.put("a", "old").await.json();
    let announced = server.put("a", vec![0; (1 << 20) + 1]).await.problem(413, "payload_too_large");
    assert_eq!(announced["limit"], 1 << 20);
    let pieces = (0..5000).map(|_| Ok::<_, std::io::Error>(vec![0; 1000]));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    server.put("a", body).await.problem(413, "payload_too_large");
    assert_eq!(server.read("a").await.text(), "old");
    assert_eq!(names(&server.workspace()), ["a"]);
    assert_eq!(server.put("a", vec![0; 1 << 20]).await.json()["bytesWritten"], 1 << 20);
}

#[tokio::test]
async fn an_encoded_body_is_refused_instead_of_stored_encoded() {
    let server = Server::start();
    let request = server.request(Method::PUT, &file("a")).header("content-encoding", "gzip").body("x");
    Answer::of(request).await.problem(415, "unsupported_media_type");
    assert_eq!(names(&server.workspace()), [""; 0]);
}

#[tokio::test]
async fn a_refused_large_body_still_gets_its_answer() {
    let server = Server::start();
    std::fs::create_dir(server.at("directory")).unwrap();
    for _ in 0..5 {
        server.put("directory", vec![0; 20 << 20]).await.problem(409, "wrong_kind");
    }
}

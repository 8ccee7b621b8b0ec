//! `GET /v1/fs/watch`.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use test_harness::files::{Answer, PATIENCE, Server, Tar, query};

/// An open event stream.
struct Watch {
    response: Response,
    text: String,
}

impl Watch {
    async fn open(server: &Server, pairs: &[(&str, &str)]) -> Self {
        let target = format!("/v1/fs/watch{}", query(pairs));
        let request = server.request(Method::GET, &target).header("accept", "text/event-stream");
        let response = request.timeout(4 * PATIENCE).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let mut watch = Self { response, text: String::new() };
        assert!(watch.next_frame().await.unwrap().starts_with(':'), "the first frame must be a comment");
        watch
    }

    /// The next frame; `None` at the end of the stream.
    async fn next_frame(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(frame);
            }
            let chunk =
                tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("something to come");
            self.text.push_str(std::str::from_utf8(&chunk.ok()??).unwrap());
        }
    }

    /// The next event with this name; others are skipped.
    async fn event(&mut self, name: &str) -> Value {
        loop {
            let frame = self.next_frame().await.expect("an event");
            let Some(rest) = frame.strip_prefix(&format!("event: {name}\ndata: ")) else { continue };
            return serde_json::from_str(rest).unwrap();
        }
    }
}

#[tokio::test]
async fn changes_are_reported_as_they_happen() {
    let server = Server::start();
    server.put("folder/old", "x").await.json();
    let mut watch = Watch::open(&server, &[("path", "folder")]).await;
    std::fs::write(server.at("folder/new"), "1").unwrap();
    assert_eq!(watch.event("created").await, json!({"path": server.shown("folder/new")}));
    std::fs::write(server.at("folder/new"), "22").unwrap();
    assert_eq!(watch.event("changed").await, json!({"path": server.shown("folder/new")}));
    std::fs::rename(server.at("folder/new"), server.at("folder/newer")).unwrap();
    let renamed = json!({"from": server.shown("folder/new"), "to": server.shown("folder/newer")});
    assert_eq!(watch.event("renamed").await, renamed);
    std::fs::remove_file(server.at("folder/newer")).unwrap();
    assert_eq!(watch.event("removed").await, json!({"path": server.shown("folder/newer")}));
    std::fs::create_dir_all(server.at("folder/a/b")).unwrap();
    std::fs::write(server.at("folder/a/b/deep"), "x").unwrap();
    while watch.event("created").await["path"] != server.shown("folder/a/b/deep") {}
}

#[tokio::test]
async fn an_upload_is_reported_when_it_is_in_place_and_never_under_its_temporary_name() {
    let server = Server::start();
    let mut watch = Watch::open(&server, &[]).await;
    server.put("file", "x").await.json();
    let archive = Tar::default().file("folder/inside", b"x").bytes();
    let unpacked = server.request(Method::POST, "/v1/fs/upload-batch?path=.").body(archive);
    Answer::of(unpacked.header("content-type", "application/x-tar")).await.json();
    let mut expected = vec![server.shown("file"), server.shown("folder"), server.shown("folder/inside")];
    while !expected.is_empty() {
        let frame = watch.next_frame().await.expect("an event");
        assert!(!frame.contains(".sandbox-agent-"), "{frame}");
        if let Some(data) = frame.strip_prefix("event: created\ndata: ") {
            let created: Value = serde_json::from_str(data).unwrap();
            expected.retain(|path| created["path"] != **path);
        }
    }
}

#[tokio::test]
async fn a_watch_that_is_not_recursive_reports_only_the_directorys_own_entries() {
    let server = Server::start();
    std::fs::create_dir(server.at("inner")).unwrap();
    let mut watch = Watch::open(&server, &[("recursive", "false")]).await;
    std::fs::write(server.at("inner/quiet"), "x").unwrap();
    std::fs::write(server.at("loud"), "x").unwrap();
    assert_eq!(watch.event("created").await, json!({"path": server.shown("loud")}));
}

#[tokio::test]
async fn a_slow_reader_receives_an_overflow() {
    let server = Server::start();
    let mut watch = Watch::open(&server, &[]).await;
    // Long names fill the buffers while nothing is read.
    let folder = (0..12).fold(server.workspace(), |folder, _| folder.join("x".repeat(250)));
    std::fs::create_dir_all(&folder).unwrap();
    for number in 0..8_000 {
        std::fs::write(folder.join(number.to_string()), "").unwrap();
    }
    assert_eq!(watch.event("overflow").await, json!({"path": server.shown("").trim_end_matches('/')}));
}

#[tokio::test]
async fn the_stream_has_headers_against_proxy_buffering_and_caching() {
    let server = Server::start();
    let watch = Watch::open(&server, &[]).await;
    let header = |name: &str| watch.response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("cache-control"), "no-cache, no-transform");
    assert_eq!(header("x-accel-buffering"), "no");
}

#[tokio::test]
async fn an_idle_stream_has_a_heartbeat_within_fifteen_seconds() {
    let server = Server::start();
    let mut watch = Watch::open(&server, &[]).await;
    let beat = tokio::time::timeout(Duration::from_secs(17), watch.next_frame()).await;
    assert!(beat.expect("a heartbeat").unwrap().starts_with(':'));
}

#[tokio::test]
async fn entries_that_cannot_be_watched_are_refused_before_the_stream_begins() {
    let server = Server::start();
    server.get("/v1/fs/watch?path=none").await.problem(404, "file_not_found");
    server.get("/v1/fs/watch?path=/dev/null").await.problem(409, "wrong_kind");
    server.get("/v1/fs/watch?recursive=maybe").await.problem(400, "invalid_parameter");
    let html = server.request(Method::GET, "/v1/fs/watch").header("accept", "text/html");
    Answer::of(html).await.problem(406, "not_acceptable");
}

#[tokio::test]
async fn a_stopping_server_ends_its_watches() {
    let server = Server::start();
    let mut watch = Watch::open(&server, &[]).await;
    server.terminate();
    assert_eq!(watch.next_frame().await, None);
}

#[tokio::test]
async fn a_watch_ends_when_its_reader_disconnects() {
    let server = Server::start();
    // Most systems limit a user to 128 of these, so leaked ones would soon be noticed.
    for number in 0..200 {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let request = server.request(Method::GET, "/v1/fs/watch");
            let status = request.send().await.unwrap().status().as_u16();
            if status == 200 {
                break;
            }
            assert_eq!(status, 503, "too many watches must be a 503");
            assert!(std::time::Instant::now() < deadline, "watch {number} was never accepted");
        }
    }
}

//! `If-Match` and `If-None-Match` on `PUT /v1/fs/file`.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;

use test_harness::files::{Answer, Server, file};

async fn put_if(server: &Server, path: &str, condition: (&str, &str), body: &'static str) -> Answer {
    let request = server.request(Method::PUT, &file(path)).header(condition.0, condition.1);
    Answer::of(request.body(body)).await
}

#[tokio::test]
async fn a_write_with_if_match_requires_that_version() {
    let server = Server::start();
    let first = server.put("a", "one").await;
    let etag = first.header("etag").to_owned();
    assert_eq!(etag, server.read("a").await.header("etag"), "a write must return the new version");
    let second = put_if(&server, "a", ("if-match", &etag), "two").await;
    assert_eq!(second.status, 200);
    let stale = put_if(&server, "a", ("if-match", &etag), "three").await.problem(412, "precondition_failed");
    assert_eq!(stale["path"], server.shown("a"));
    put_if(&server, "a", ("if-match", &format!("W/{}", second.header("etag"))), "three")
        .await
        .problem(412, "precondition_failed");
    assert_eq!(server.read("a").await.text(), "two");
    assert_eq!(put_if(&server, "a", ("if-match", "*"), "four").await.status, 200);
    put_if(&server, "new/b", ("if-match", "*"), "x").await.problem(412, "precondition_failed");
    assert!(!server.at("new").exists(), "a refused write must create nothing");
}

#[tokio::test]
async fn a_file_is_created_only_if_it_does_not_exist() {
    let server = Server::start();
    assert_eq!(put_if(&server, "a", ("if-none-match", "*"), "first").await.status, 200);
    put_if(&server, "a", ("if-none-match", "*"), "second").await.problem(412, "precondition_failed");
    assert_eq!(server.read("a").await.text(), "first");
}

#[tokio::test]
async fn of_several_concurrent_creations_one_succeeds() {
    let server = Server::start();
    for round in 0..20 {
        let name = format!("race-{round}");
        let writers = ["left", "right"].map(|body| {
            let (server, name) = (&server, &name);
            async move { (body, put_if(server, name, ("if-none-match", "*"), body).await.status) }
        });
        let outcomes = join_all(writers).await;
        let winners: Vec<_> = outcomes.iter().filter(|(_, status)| *status == 200).collect();
        let losers = outcomes.iter().filter(|(_, status)| *status == 412).count();
        assert_eq!((winners.len(), losers), (1, 1), "{outcomes:?}");
        assert_eq!(server.read(&name).await.text(), winners[0].0);
    }
}

#[tokio::test]
async fn the_condition_is_checked_again_after_the_body() {
    let server = Server::start();
    let etag = server.put("a", "one").await.header("etag").to_owned();
    let (sender, body) = tokio::sync::mpsc::channel::<std::io::Result<&'static str>>(1);
    let body = reqwest::Body::wrap_stream(futures_util::stream::unfold(body, |mut body| async move {
        body.recv().await.map(|piece| (piece, body))
    }));
    let request = server.request(Method::PUT, &file("a")).header("if-match", etag).body(body);
    let slow = tokio::spawn(Answer::of(request));
    sender.send(Ok("from the slow one")).await.unwrap();
    // The upload is in progress when its temporary file exists.
    test_harness::files::eventually("the upload", || {
        (test_harness::files::names(&server.workspace()).len() > 1).then_some(())
    })
    .await;
    assert_eq!(server.put("a", "from the fast one").await.status, 200);
    drop(sender);
    let slow = tokio::time::timeout(Duration::from_secs(10), slow).await.unwrap().unwrap();
    slow.problem(412, "precondition_failed");
    assert_eq!(server.read("a").await.text(), "from the fast one");
    assert_eq!(test_harness::files::names(&server.workspace()), ["a"]);
}

#[tokio::test]
async fn an_unsupported_condition_is_refused_instead_of_ignored() {
    let server = Server::start();
    server.put("a", "one").await.json();
    for condition in
        [("if-match", "unquoted"), ("if-none-match", "\"some-tag\""), ("content-range", "bytes 0-1/9")]
    {
        let problem = put_if(&server, "a", condition, "x").await.problem(400, "invalid_header");
        assert_eq!(problem["header"], condition.0);
    }
    let both = server.request(Method::PUT, &file("a")).header("if-match", "*").header("if-none-match", "*");
    Answer::of(both.body("x")).await.problem(400, "invalid_header");
    assert_eq!(server.read("a").await.text(), "one");
}

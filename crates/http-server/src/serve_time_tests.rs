//! Limits on time. All streams are in memory and the clock is paused: it moves only when every task waits for it.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::Exposure;
use crate::test_client::{DEADLINE, post, wait_until};
use crate::test_server::TestServer;

/// Longer than [`HEADER_TIMEOUT`].
const LONG: Duration = Duration::from_secs(100);

/// The clock has a resolution of a millisecond.
fn assert_elapsed(since: Instant, expected: Duration) {
    let elapsed = since.elapsed();
    assert!(
        (expected..expected + Duration::from_millis(100)).contains(&elapsed),
        "{elapsed:?}, not {expected:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stopping_server_waits_at_most_for_the_drain_time() {
    let drain = Duration::from_secs(7);
    let server = TestServer::start_with_drain(Exposure::default(), drain);
    let _client = server.connect_and_wait("/v1/direct/a").await;
    let stopped = Instant::now();
    server.stop.cancel();
    server.serving.await.unwrap();
    assert_elapsed(stopped, drain);
}

/// The second and the third input are the beginning of an HTTP/2 preface; hyper waits for all of its 24
/// bytes.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_its_head_in_time_is_disconnected() {
    let server = TestServer::start(Exposure::default());
    for sent in ["", "P", "PRI * HTTP/2.0\r\n\r\nSM", "POST /v1/direct/a HTTP/1.1\r\nhost: localhost\r\n"] {
        let (started, mut client) = (Instant::now(), server.connect());
        client.send(sent).await;
        client.wait_for_end().await;
        assert_elapsed(started, HEADER_TIMEOUT);
    }
}

#[tokio::test(start_paused = true)]
async fn the_head_timeout_starts_again_after_each_response() {
    let server = TestServer::start(Exposure::default());
    for sent in ["", "POST /v1/direct/a HTTP/1.1\r\n"] {
        let mut client = server.connect();
        sleep(HEADER_TIMEOUT / 2).await;
        assert_eq!(client.ask(&post("/v1/direct/a", "", "x")).await.body, "x");
        let answered = Instant::now();
        client.send(sent).await;
        client.wait_for_end().await;
        assert_elapsed(answered, HEADER_TIMEOUT);
    }
}

#[tokio::test(start_paused = true)]
async fn the_head_timeout_does_not_limit_bodies_or_responses() {
    let server = TestServer::start(Exposure::default());
    let request = post("/v1/direct/a", "", "body");
    let mut slow = server.connect();
    slow.send(request.strip_suffix("dy").unwrap()).await;
    let mut waiting = server.connect_and_wait("/v1/direct/a").await;
    sleep(LONG).await;
    slow.send("dy").await;
    assert_eq!(slow.answer().await.body, "body");
    server.echo.gate.add_permits(1);
    assert_eq!(waiting.answer().await.body, "wait");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_in_the_middle_of_a_body_gets_an_error() {
    let server = TestServer::start(Exposure::default());
    let request = post("/v1/direct/a", "", "body");
    let mut client = server.connect();
    client.send(request.strip_suffix("dy").unwrap()).await;
    let sent = Instant::now();
    let answer = client.answer().await;
    assert!(answer.body.contains("the client sent nothing for 120 s"), "{}", answer.body);
    assert_elapsed(sent, Duration::from_secs(120));
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_of_http_2_is_closed_and_one_with_an_open_request_is_not() {
    let server = TestServer::start(Exposure::default());
    let stream = TokioIo::new(server.open_stream());
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = |body: &'static str| {
        let body = Full::new(Bytes::from_static(body.as_bytes()));
        Request::post("http://localhost/v1/routed/a").body(body).unwrap()
    };
    let waiting = client.send_request(request("wait"));
    wait_until("the request did not reach the handler", || server.echo.waiting.load(Ordering::SeqCst) == 1)
        .await;
    sleep(LONG).await;
    server.echo.gate.add_permits(1);
    let answer = waiting.await.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(answer, "wait");
    let answered = Instant::now();
    timeout(DEADLINE, connection).await.expect("the connection is closed").unwrap().unwrap();
    assert_elapsed(answered, HEADER_TIMEOUT);
    assert!(client.send_request(request("late")).await.is_err());
}

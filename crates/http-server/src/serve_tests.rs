use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};

use super::*;
use crate::test_client::{Client, DEADLINE, post, wait_until};
use crate::test_server::{Echo, TestServer};
use crate::{Exposure, Origin, Token};

const TRACE: &str = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
const PATHS: [&str; 2] = ["/v1/direct/a", "/v1/routed/a"];

#[tokio::test(start_paused = true)]
async fn the_direct_route_and_the_router_answer_alike() {
    let origins = vec!["https://page.example".parse::<Origin>().unwrap()];
    let token = Some(Token::new("secret").unwrap());
    let server = TestServer::start(Exposure { origins, token, ..Exposure::default() });
    let mut client = server.connect();
    let allowed = "authorization: Bearer secret\r\nx-request-id: mine\r\n";
    let page = "origin: https://page.example\r\n";
    let preflight = "access-control-request-method: POST\r\n";
    for (headers, body, status) in [
        (allowed.to_owned(), "echo", 200),
        (format!("{allowed}{page}{TRACE}"), "echo", 200),
        (format!("{allowed}{page}"), "accepted", 202),
        (format!("{allowed}{page}"), "problem", 429),
        (format!("x-request-id: mine\r\n{page}"), "echo", 401),
        (format!("x-request-id: mine\r\n{page}{preflight}"), "", 204),
    ] {
        let mut answers = Vec::new();
        for path in PATHS {
            let request = post(path, &headers, body);
            let request = if status == 204 { request.replacen("POST", "OPTIONS", 1) } else { request };
            answers.push(client.ask(&request).await);
        }
        assert_eq!(answers[0], answers[1], "{headers} {body}");
        assert_eq!((answers[0].status, answers[0].header("x-request-id")), (status, Some("mine")));
        assert_eq!(answers[0].header("access-control-allow-origin").is_some(), headers.contains(page));
        let is_problem = status >= 400;
        assert_eq!(answers[0].body.contains(r#""requestId":"mine""#), is_problem, "{answers:?}");
        assert_eq!(answers[0].header("content-type") == Some("application/problem+json"), is_problem);
    }
    let reports = server.reports.0.lock().unwrap();
    let (direct, routed): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.contains("/direct/"));
    assert_eq!(direct.len(), 6);
    assert_eq!(direct[1], "POST /v1/direct/{x} 200 OK None mine Some(\"4bf92f3577b34da6a3ce929d0e0e4736\")");
    for (direct, routed) in direct.into_iter().zip(routed) {
        assert_eq!(direct.replace("/direct/", "/routed/"), *routed);
    }
}

#[tokio::test(start_paused = true)]
async fn every_direct_request_gets_an_id_of_its_own() {
    let server = TestServer::start(Exposure::default());
    let mut client = server.connect();
    let mut ids = Vec::new();
    for body in ["1", "22", "problem"] {
        let answer = client.ask(&post("/v1/direct/a", "", body)).await;
        let id = answer.header("x-request-id").unwrap().to_owned();
        assert!(body != "problem" || answer.body.contains(&format!(r#""requestId":"{id}""#)), "{answer:?}");
        assert!(!ids.contains(&id));
        ids.push(id);
    }
}

#[tokio::test(start_paused = true)]
async fn the_direct_route_serves_http_2_as_well() {
    let server = TestServer::start(Exposure::default());
    let stream = TokioIo::new(server.open_stream());
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    for path in PATHS {
        let request =
            Request::post(format!("http://localhost{path}")).body(Full::<Bytes>::from("echo")).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(response.headers().contains_key("x-request-id"));
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "echo");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_client_disconnects_is_dropped_and_counted_as_abandoned() {
    let server = TestServer::start(Exposure::default());
    for (path, abandoned) in PATHS.into_iter().zip(1..) {
        let client = server.connect_and_wait(path).await;
        assert_eq!(server.metrics.abandoned.get(), abandoned - 1);
        drop(client);
        wait_until("the request was not dropped", || server.echo.waiting.load(Ordering::SeqCst) == 0).await;
        wait_until("the request was not counted", || server.metrics.abandoned.get() == abandoned).await;
    }
}

#[tokio::test(start_paused = true)]
async fn when_the_server_stops_requests_in_flight_are_answered_and_idle_connections_close() {
    let server = TestServer::start(Exposure::default());
    let mut idle = server.connect();
    assert_eq!(idle.ask(&post("/v1/direct/a", "", "x")).await.body, "x");
    let mut clients = Vec::new();
    for path in PATHS {
        clients.push(server.connect_and_wait(path).await);
    }
    server.stop.cancel();
    idle.wait_for_end().await;
    assert!(!server.serving.is_finished(), "two requests are in flight");
    server.echo.gate.add_permits(2);
    for mut client in clients {
        let answer = client.answer().await;
        assert_eq!((answer.body.as_str(), answer.header("connection")), ("wait", Some("close")));
        client.wait_for_end().await;
    }
    server.serving.await.unwrap();
    assert_eq!(server.metrics.abandoned.get(), 0);
}

/// The client sends the whole body before it reads, as most clients do. Needs a socket: when the server closes the
/// connection too early, the client's system discards the response.
#[tokio::test]
async fn a_client_that_is_refused_while_it_sends_a_large_body_gets_the_response() {
    let token = Some(Token::new("secret").unwrap());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Echo::new().into_server(Exposure { token, ..Exposure::default() });
    tokio::spawn(serve(listener, server, CancellationToken::new(), DEADLINE));
    let body = "x".repeat(8 << 20);
    for (path, extra, code) in
        [("/v1/direct/a", "", "unauthorized"), ("/nowhere", "authorization: Bearer secret\r\n", "not_found")]
    {
        let mut client = Client::new(TcpStream::connect(address).await.unwrap());
        client.send(&post(path, extra, &body)).await;
        let answer = client.answer().await;
        assert!(answer.body.contains(code), "{}", answer.body);
    }
}

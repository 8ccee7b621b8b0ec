use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::RequestBody;
use axum::extract::State;
use axum::routing::post as routed_post;
use bytes::Bytes;
use http::request::Parts;
use http_body_util::{BodyExt, Full};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::*;
use crate::test_client::{Client, DEADLINE, post, wait_until};
use crate::{Answered, Exposure, Origin, RequestListener, RouteTable, ServerMetrics, Token};

/// Answers with the body of the request; some bodies get special answers. The router serves the same handler
/// at `/v1/routed/{x}`.
#[derive(Debug, Clone)]
struct Echo {
    /// Each permit releases one waiting request.
    gate: Arc<Semaphore>,
    /// How many requests are waiting.
    waiting: Arc<AtomicUsize>,
}

struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Echo {
    async fn answer(self, body: Bytes) -> Result<Response<Bytes>, Problem> {
        let mut response = Response::new(body.clone());
        match &body[..] {
            b"wait" => {
                self.waiting.fetch_add(1, Ordering::SeqCst);
                let _waiting = Waiting(self.waiting);
                self.gate.acquire().await.unwrap().forget();
            }
            b"accepted" => {
                *response.status_mut() = StatusCode::ACCEPTED;
                *response.body_mut() = Bytes::new();
            }
            b"problem" => {
                return Err(Problem::new(Code::TooManyPending, "no").with("limit", 3).retry_after(1));
            }
            _ => {}
        }
        Ok(response)
    }
}

impl DirectRoute for Echo {
    fn serves(&self, head: &Parts) -> bool {
        head.uri.path().starts_with("/v1/direct/")
    }

    fn call(
        &self,
        _head: Parts,
        body: RequestBody,
    ) -> impl Future<Output = Result<Response<Bytes>, Problem>> + Send + 'static {
        let echo = self.clone();
        async move {
            let body = body.collect().await;
            let body = body.map_err(|error| Problem::new(Code::IncompleteBody, error.to_string()))?;
            echo.answer(body.to_bytes()).await
        }
    }
}

async fn routed_echo(State(echo): State<Echo>, body: Bytes) -> Result<Response<Body>, Problem> {
    Ok(echo.answer(body).await?.map(Body::from))
}

/// Records what the server reports about each request.
#[derive(Debug, Clone, Default)]
struct Reports(Arc<Mutex<Vec<String>>>);

impl RequestListener for Reports {
    fn answered(&self, request: &Answered<'_>) {
        let Answered { method, route, status, problem, request_id, trace, .. } = request;
        let trace = trace.map(crate::TraceContext::trace_id);
        let report = format!("{method} {route} {status} {problem:?} {request_id} {trace:?}");
        self.0.lock().unwrap().push(report);
    }
}

struct TestServer {
    address: SocketAddr,
    echo: Echo,
    metrics: Arc<ServerMetrics>,
    reports: Reports,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl TestServer {
    async fn start(exposure: Exposure) -> Self {
        Self::start_with(exposure, HEADER_TIMEOUT, DEADLINE).await
    }

    async fn start_with(exposure: Exposure, header_timeout: Duration, drain: Duration) -> Self {
        Self::start_limited(exposure, header_timeout, DEADLINE, drain).await
    }

    async fn start_limited(
        exposure: Exposure,
        header_timeout: Duration,
        silence_limit: Duration,
        drain: Duration,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = RouteTable::new(["/v1/direct/{x}", "/v1/routed/{x}"]);
        let (metrics, reports) = (Arc::new(ServerMetrics::new(routes)), Reports::default());
        let echo = Echo { gate: Arc::new(Semaphore::new(0)), waiting: Arc::default() };
        let router = Router::new().route("/v1/routed/{x}", routed_post(routed_echo)).with_state(echo.clone());
        let server = HttpServer::new(with_fallbacks(router), exposure)
            .with_metrics(Arc::clone(&metrics))
            .with_listener(reports.clone())
            .with_direct_route(echo.clone());
        let stop = CancellationToken::new();
        let mut server = Server::new(server, header_timeout, drain);
        server.silence_limit = silence_limit;
        let serving = tokio::spawn(server.run(listener, stop.clone()));
        Self { address, echo, metrics, reports, stop, serving }
    }

    async fn connect(&self) -> Client {
        Client::connect(self.address).await
    }

    /// A connection with a request that is waiting in the handler.
    async fn connect_and_wait(&self, path: &str) -> Client {
        let before = self.echo.waiting.load(Ordering::SeqCst);
        let mut client = self.connect().await;
        client.send(&post(path, "", "wait")).await;
        wait_until("the request did not reach the handler", || {
            self.echo.waiting.load(Ordering::SeqCst) == before + 1
        })
        .await;
        client
    }
}

const TRACE: &str = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
const PATHS: [&str; 2] = ["/v1/direct/a", "/v1/routed/a"];

#[tokio::test]
async fn the_direct_route_and_the_router_answer_alike() {
    let origins = vec!["https://page.example".parse::<Origin>().unwrap()];
    let token = Some(Token::new("secret").unwrap());
    let server = TestServer::start(Exposure { origins, token, ..Exposure::default() }).await;
    let mut client = server.connect().await;
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

#[tokio::test]
async fn every_direct_request_gets_an_id_of_its_own() {
    let server = TestServer::start(Exposure::default()).await;
    let mut client = server.connect().await;
    let mut ids = Vec::new();
    for body in ["1", "22", "problem"] {
        let answer = client.ask(&post("/v1/direct/a", "", body)).await;
        let id = answer.header("x-request-id").unwrap().to_owned();
        assert!(body != "problem" || answer.body.contains(&format!(r#""requestId":"{id}""#)), "{answer:?}");
        assert!(!ids.contains(&id));
        ids.push(id);
    }
}

#[tokio::test]
async fn the_direct_route_serves_http_2_as_well() {
    let server = TestServer::start(Exposure::default()).await;
    let stream = TokioIo::new(TcpStream::connect(server.address).await.unwrap());
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

#[tokio::test]
async fn a_request_whose_client_disconnects_is_dropped_and_counted_as_abandoned() {
    let server = TestServer::start(Exposure::default()).await;
    for (path, abandoned) in PATHS.into_iter().zip(1..) {
        let client = server.connect_and_wait(path).await;
        assert_eq!(server.metrics.abandoned.get(), abandoned - 1);
        drop(client);
        wait_until("the request was not dropped", || server.echo.waiting.load(Ordering::SeqCst) == 0).await;
        wait_until("the request was not counted", || server.metrics.abandoned.get() == abandoned).await;
    }
}

#[tokio::test]
async fn when_the_server_stops_requests_in_flight_are_answered_and_idle_connections_close() {
    let server = TestServer::start(Exposure::default()).await;
    let mut idle = server.connect().await;
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

#[tokio::test]
async fn a_stopping_server_waits_at_most_for_the_drain_time() {
    let drain = Duration::from_millis(50);
    let server = TestServer::start_with(Exposure::default(), HEADER_TIMEOUT, drain).await;
    let _client = server.connect_and_wait("/v1/direct/a").await;
    let stopped = Instant::now();
    server.stop.cancel();
    server.serving.await.unwrap();
    assert!((drain..DEADLINE).contains(&stopped.elapsed()), "{:?}", stopped.elapsed());
}

const SHORT: Duration = Duration::from_millis(100);

/// The second and the third input are the beginning of an HTTP/2 preface; hyper waits for all of its 24
/// bytes.
#[tokio::test]
async fn a_client_that_does_not_finish_its_head_in_time_is_disconnected() {
    let server = TestServer::start_with(Exposure::default(), SHORT, DEADLINE).await;
    for sent in ["", "P", "PRI * HTTP/2.0\r\n\r\nSM", "POST /v1/direct/a HTTP/1.1\r\nhost: localhost\r\n"] {
        let (started, mut client) = (Instant::now(), server.connect().await);
        client.send(sent).await;
        client.wait_for_end().await;
        assert!(started.elapsed() >= SHORT, "{sent:?} was disconnected after {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn the_head_timeout_starts_again_after_each_response() {
    let server = TestServer::start_with(Exposure::default(), SHORT, DEADLINE).await;
    for sent in ["", "POST /v1/direct/a HTTP/1.1\r\n"] {
        let mut client = server.connect().await;
        assert_eq!(client.ask(&post("/v1/direct/a", "", "x")).await.body, "x");
        let answered = Instant::now();
        client.send(sent).await;
        client.wait_for_end().await;
        assert!(answered.elapsed() >= SHORT / 2, "{sent:?} was disconnected after {:?}", answered.elapsed());
    }
}

#[tokio::test]
async fn the_head_timeout_does_not_limit_bodies_or_responses() {
    let server = TestServer::start_with(Exposure::default(), SHORT, DEADLINE).await;
    let request = post("/v1/direct/a", "", "body");
    let mut slow = server.connect().await;
    slow.send(request.strip_suffix("dy").unwrap()).await;
    let mut waiting = server.connect_and_wait("/v1/direct/a").await;
    tokio::time::sleep(SHORT * 3).await;
    slow.send("dy").await;
    assert_eq!(slow.answer().await.body, "body");
    server.echo.gate.add_permits(1);
    assert_eq!(waiting.answer().await.body, "wait");
}

#[tokio::test]
async fn a_client_that_stops_in_the_middle_of_a_body_gets_an_error() {
    let server = TestServer::start_limited(Exposure::default(), HEADER_TIMEOUT, SHORT, DEADLINE).await;
    let request = post("/v1/direct/a", "", "body");
    let mut client = server.connect().await;
    client.send(request.strip_suffix("dy").unwrap()).await;
    let answer = client.answer().await;
    assert!(answer.body.contains("the client sent nothing"), "{}", answer.body);
}

/// The client sends the whole body before it reads, as most clients do.
#[tokio::test]
async fn a_client_that_is_refused_while_it_sends_a_large_body_gets_the_response() {
    let token = Some(Token::new("secret").unwrap());
    let server = TestServer::start(Exposure { token, ..Exposure::default() }).await;
    let body = "x".repeat(8 << 20);
    for (path, extra, code) in
        [("/v1/direct/a", "", "unauthorized"), ("/nowhere", "authorization: Bearer secret\r\n", "not_found")]
    {
        let mut client = server.connect().await;
        client.send(&post(path, extra, &body)).await;
        let answer = client.answer().await;
        assert!(answer.body.contains(code), "{}", answer.body);
    }
}

#[tokio::test]
async fn an_idle_connection_of_http_2_is_closed_and_one_with_an_open_request_is_not() {
    let server = TestServer::start_with(Exposure::default(), SHORT, DEADLINE).await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = |body: &'static str| {
        let uri = format!("http://{}/v1/routed/a", server.address);
        Request::post(uri).body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap()
    };
    let waiting = client.send_request(request("wait"));
    wait_until("the request did not reach the handler", || server.echo.waiting.load(Ordering::SeqCst) == 1)
        .await;
    tokio::time::sleep(SHORT * 3).await;
    server.echo.gate.add_permits(1);
    let answer = waiting.await.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(answer, "wait");
    tokio::time::timeout(DEADLINE, connection).await.expect("the connection is closed").unwrap().unwrap();
    assert!(client.send_request(request("late")).await.is_err());
}

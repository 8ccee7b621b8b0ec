//! For tests: a server whose connections are in memory, so that its tests can run on paused time.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::post as routed_post;
use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use tokio::io::DuplexStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::direct_route::DirectRoute;
use crate::serve::{Listener, Server, with_fallbacks};
use crate::test_client::{Client, DEADLINE, post, wait_until};
use crate::{
    Answered, Code, Exposure, HttpServer, Problem, RequestBody, RequestListener, RouteTable, ServerMetrics,
};

/// Answers with the body of the request; some bodies get special answers. The router serves the same handler
/// at `/v1/routed/{x}`.
#[derive(Debug, Clone)]
pub(crate) struct Echo {
    /// Each permit releases one waiting request.
    pub(crate) gate: Arc<Semaphore>,
    /// How many requests are waiting.
    pub(crate) waiting: Arc<AtomicUsize>,
}

struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Echo {
    pub(crate) fn new() -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), waiting: Arc::default() }
    }

    /// A server that has this handler both as its direct route and on its router.
    pub(crate) fn into_server(self, exposure: Exposure) -> HttpServer<Self> {
        let router = Router::new().route("/v1/routed/{x}", routed_post(routed_echo)).with_state(self.clone());
        HttpServer::new(with_fallbacks(router), exposure).with_direct_route(self)
    }

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
pub(crate) struct Reports(pub(crate) Arc<Mutex<Vec<String>>>);

impl RequestListener for Reports {
    fn answered(&self, request: &Answered<'_>) {
        let Answered { method, route, status, problem, request_id, trace, .. } = request;
        let trace = trace.map(crate::TraceContext::trace_id);
        let report = format!("{method} {route} {status} {problem:?} {request_id} {trace:?}");
        self.0.lock().unwrap().push(report);
    }
}

pub(crate) struct TestServer {
    streams: mpsc::UnboundedSender<DuplexStream>,
    pub(crate) echo: Echo,
    pub(crate) metrics: Arc<ServerMetrics>,
    pub(crate) reports: Reports,
    pub(crate) stop: CancellationToken,
    pub(crate) serving: JoinHandle<()>,
}

impl Listener for mpsc::UnboundedReceiver<DuplexStream> {
    type Stream = DuplexStream;

    async fn accept(&mut self) -> io::Result<DuplexStream> {
        match self.recv().await {
            Some(stream) => Ok(stream),
            None => pending().await,
        }
    }
}

impl TestServer {
    pub(crate) fn start(exposure: Exposure) -> Self {
        Self::start_with_drain(exposure, DEADLINE)
    }

    pub(crate) fn start_with_drain(exposure: Exposure, drain: Duration) -> Self {
        let (streams, listener) = mpsc::unbounded_channel();
        let routes = RouteTable::new(["/v1/direct/{x}", "/v1/routed/{x}"]);
        let (metrics, reports) = (Arc::new(ServerMetrics::new(routes)), Reports::default());
        let echo = Echo::new();
        let server = echo
            .clone()
            .into_server(exposure)
            .with_metrics(Arc::clone(&metrics))
            .with_listener(reports.clone());
        let stop = CancellationToken::new();
        let serving = tokio::spawn(Server::new(server, drain).run(listener, stop.clone()));
        Self { streams, echo, metrics, reports, stop, serving }
    }

    /// The client's side of a new connection.
    pub(crate) fn open_stream(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(64 << 10);
        self.streams.send(server).unwrap();
        client
    }

    pub(crate) fn connect(&self) -> Client {
        Client::new(self.open_stream())
    }

    /// A connection with a request that is waiting in the handler.
    pub(crate) async fn connect_and_wait(&self, path: &str) -> Client {
        let before = self.echo.waiting.load(Ordering::SeqCst);
        let mut client = self.connect();
        client.send(&post(path, "", "wait")).await;
        wait_until("the request did not reach the handler", || {
            self.echo.waiting.load(Ordering::SeqCst) == before + 1
        })
        .await;
        client
    }
}

//! Accepting connections and letting go of them.
//!
//! One service per connection does what every request needs (exposure, CORS, request id, a line in the log)
//! around the router, as plain function calls rather than layers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::Service;

use crate::problem::ProblemCode;
use crate::request_id::{self, REQUEST_ID};
use crate::{Code, Exposure, Problem};

/// How long a client may take to send its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait after a failed accept (out of descriptors, mostly) before trying again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until `stop`, then waits at most `drain` for what is under way.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    exposure: Arc<Exposure>,
    stop: CancellationToken,
    drain: Duration,
) {
    let graceful = GracefulShutdown::new();
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let service = EdgeService { router: router.clone(), exposure: Arc::clone(&exposure) };
                spawn_connection(&builder, &graceful, stream, service);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time and were cut");
    }
}

fn spawn_connection(
    builder: &auto::Builder<TokioExecutor>,
    graceful: &GracefulShutdown,
    stream: TcpStream,
    service: EdgeService,
) {
    // Small answers must not wait for a full packet.
    let _ = stream.set_nodelay(true);
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}

#[derive(Clone)]
struct EdgeService {
    router: Router,
    exposure: Arc<Exposure>,
}

impl hyper::service::Service<Request<Incoming>> for EdgeService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send + 'static>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut router = self.router.clone();
        let exposure = Arc::clone(&self.exposure);
        Box::pin(async move {
            let started = Instant::now();
            let (parts, body) = request.into_parts();
            let request_id = request_id::of(&parts.headers);
            let origin = parts.headers.get(header::ORIGIN).cloned();
            let (method, uri) = (parts.method.clone(), parts.uri.clone());
            let mut response = match exposure.admit(&parts) {
                Err(problem) => problem.into_response(),
                Ok(()) => match exposure.preflight(&parts) {
                    Some(answer) => answer,
                    None => router.call(Request::from_parts(parts, Body::new(body))).await?,
                },
            };
            exposure.decorate(origin.as_ref(), response.headers_mut());
            log(&method, uri.path(), &response, request_id.to_str().unwrap_or("?"), started);
            response.headers_mut().insert(REQUEST_ID, request_id);
            Ok(response)
        })
    }
}

fn log(method: &Method, path: &str, response: &Response<Body>, request_id: &str, started: Instant) {
    let status = response.status();
    let code = response.extensions().get::<ProblemCode>().map_or("", |code| code.0.text());
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    if status.is_server_error() {
        tracing::warn!(%method, path, status = status.as_u16(), code, request_id, micros, "request failed");
    } else {
        tracing::debug!(%method, path, status = status.as_u16(), code, request_id, micros, "request");
    }
}

/// What a router answers for paths and methods that it does not have, as problems.
pub fn with_fallbacks(router: Router) -> Router {
    router.fallback(not_found).method_not_allowed_fallback(method_not_allowed)
}

async fn not_found(request: Request<Body>) -> Problem {
    let path = request.uri().path();
    Problem::new(Code::NotFound, format!("nothing is served at {path}; GET / lists what is"))
}

async fn method_not_allowed(request: Request<Body>) -> Response<Body> {
    let detail = format!("{} does not take {}", request.uri().path(), request.method());
    let response = Problem::new(Code::MethodNotAllowed, detail).into_response();
    debug_assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    response
}

//! Accepting connections, and closing them when the server stops.

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::Timeout;
use tokio_util::sync::CancellationToken;

use crate::counted_stream::CountedStream;
use crate::direct_route::DirectRoute;
use crate::server::HttpServer;
use crate::service::ConnectionService;
use crate::{Code, Problem};

/// How long a client may take to send the head of a request, counted from the connection or from the previous response.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait after a failed accept (usually out of descriptors) before trying again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop` is cancelled, then waits at most `drain` for requests in flight.
pub async fn serve<D: DirectRoute>(
    listener: TcpListener,
    server: HttpServer<D>,
    stop: CancellationToken,
    drain: Duration,
) {
    Server::new(server, HEADER_TIMEOUT, drain).run(listener, stop).await;
}

/// What all connections share. Tests set a shorter `header_timeout`.
pub(crate) struct Server<D: DirectRoute> {
    server: Arc<HttpServer<D>>,
    http: auto::Builder<TokioExecutor>,
    header_timeout: Duration,
    drain: Duration,
}

impl<D: DirectRoute> Server<D> {
    pub(crate) fn new(server: HttpServer<D>, header_timeout: Duration, drain: Duration) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1().timer(TokioTimer::new()).header_read_timeout(header_timeout);
        http.http2().timer(TokioTimer::new());
        Self { server: Arc::new(server), http, header_timeout, drain }
    }

    pub(crate) async fn run(self, listener: TcpListener, stop: CancellationToken) {
        let connections = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, _)) => self.spawn_connection(stream, &connections),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        if tokio::time::timeout(self.drain, connections.shutdown()).await.is_err() {
            tracing::warn!("some connections did not finish in time and were closed");
        }
    }

    fn spawn_connection(&self, stream: TcpStream, connections: &GracefulShutdown) {
        // Small responses must not wait for a full packet.
        let _ = stream.set_nodelay(true);
        let stream = CountedStream::new(stream, &self.server.metrics);
        let (service, first_request) = ConnectionService::new(Arc::clone(&self.server));
        let connection = self.http.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = connections.watch(connection);
        let first_request = tokio::time::timeout(self.header_timeout, first_request);
        tokio::spawn(async move {
            if let Err(error) = run_connection(connection, first_request).await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}

type ConnectionResult = Result<(), Box<dyn Error + Send + Sync>>;

/// Runs a connection to its end. A client that sends no request in time is disconnected here, because hyper's own
/// timeout starts only when it knows the HTTP version, for which it may wait for 24 bytes.
async fn run_connection(
    connection: impl Future<Output = ConnectionResult>,
    first_request: Timeout<oneshot::Receiver<()>>,
) -> ConnectionResult {
    let mut connection = pin!(connection);
    tokio::select! {
        result = &mut connection => return result,
        in_time = first_request => {
            let _ = in_time.map_err(|_elapsed| "the client sent no request in time")?;
        }
    }
    connection.await
}

/// Makes a router answer unknown paths and methods with problems.
pub fn with_fallbacks(router: Router) -> Router {
    router.fallback(not_found).method_not_allowed_fallback(method_not_allowed)
}

async fn not_found(request: Request<Body>) -> Problem {
    let path = request.uri().path();
    Problem::new(Code::NotFound, format!("nothing is served at {path}; GET / lists the available paths"))
}

async fn method_not_allowed(request: Request<Body>) -> Response<Body> {
    let detail = format!("{} does not support {}", request.uri().path(), request.method());
    let response = Problem::new(Code::MethodNotAllowed, detail).into_response();
    debug_assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    response
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;

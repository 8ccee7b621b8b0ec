//! Accepting connections, and closing them when the server stops.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::activity::Activity;
use crate::counted_stream::CountedStream;
use crate::direct_route::DirectRoute;
use crate::server::HttpServer;
use crate::service::ConnectionService;
use crate::{Code, Problem};

/// How long a client may take to send the head of a request, counted from the connection or from the previous response.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a client on HTTP/2 is pinged, and how long it may take to answer.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// How much hyper reads of a head that does not end, and of a body at a time. Larger than the longest accepted head,
/// so that most clients that send a longer one learn the reason.
const READ_BUFFER: usize = 128 << 10;
/// How long an idle connection may take to close after the server has announced it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait after a failed accept (usually out of descriptors) before trying again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop` is cancelled, then waits at most `drain` for requests in flight.
pub async fn serve<D: DirectRoute>(
    listener: TcpListener,
    server: HttpServer<D>,
    stop: CancellationToken,
    drain: Duration,
) {
    Server::new(server, drain).run(listener, stop).await;
}

/// A source of connections: a TCP socket, or streams in memory for tests on paused time.
pub(crate) trait Listener {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Ends a connection whose client takes nothing for so long, if the system can.
    fn limit_sending(_stream: &Self::Stream, _limit: Option<Duration>) {}
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<TcpStream> {
        let (stream, _) = TcpListener::accept(self).await?;
        // Small responses must not wait for a full packet.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    /// Only the kernel knows when the client takes something: it accepts megabytes from the server, and then nothing
    /// until the client has acknowledged a large part of them.
    #[cfg(target_os = "linux")]
    fn limit_sending(stream: &TcpStream, limit: Option<Duration>) {
        let Some(limit) = limit else { return };
        let limit = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, limit) {
            tracing::debug!(%error, "cannot limit how long a client takes nothing");
        }
    }
}

/// The data that all connections share.
pub(crate) struct Server<D: DirectRoute> {
    server: Arc<HttpServer<D>>,
    http: auto::Builder<TokioExecutor>,
    drain: Duration,
}

impl<D: DirectRoute> Server<D> {
    pub(crate) fn new(server: HttpServer<D>, drain: Duration) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(READ_BUFFER);
        http.http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .max_header_list_size(READ_BUFFER as u32);
        Self { server: Arc::new(server), http, drain }
    }

    pub(crate) async fn run<L: Listener>(self, mut listener: L, stop: CancellationToken) {
        let connections = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok(stream) => {
                    L::limit_sending(&stream, self.server.connections.limits.send_timeout);
                    self.spawn_connection(stream, &connections, &stop);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    self.server.connections.displace();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        connections.close();
        if tokio::time::timeout(self.drain, connections.wait()).await.is_err() {
            tracing::warn!("some connections did not finish in time and were closed");
        }
    }

    fn spawn_connection<S>(&self, stream: S, tasks: &TaskTracker, stop: &CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connections = &self.server.connections;
        let Some(open) = connections.open() else {
            tracing::warn!("a connection is refused: there are {}", connections.limits.max_connections);
            return;
        };
        let stream = CountedStream::new(stream, &self.server.metrics, Arc::clone(&open));
        let activity = Arc::new(Activity::default());
        let (service, first_request) =
            ConnectionService::new(Arc::clone(&self.server), Arc::clone(&activity), Arc::clone(&open));
        let connection = self.http.serve_connection(TokioIo::new(stream), service).into_owned();
        let idle = wait_until_idle(first_request, activity);
        let stop = stop.clone();
        tasks.spawn(async move {
            let mut connection = pin!(connection);
            let result = tokio::select! {
                result = connection.as_mut() => result,
                () = open.ended() => Err("the server needs the room".into()),
                () = open.stream_stalled() => Err("the client did not take a response in time".into()),
                kind = idle => match kind {
                    Idle::WithoutRequest => Err("the client sent no request in time".into()),
                    Idle::AfterRequests => {
                        connection.as_mut().graceful_shutdown();
                        tokio::time::timeout(CLOSE_TIMEOUT, connection).await.unwrap_or(Ok(()))
                    }
                },
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = result {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}

/// The state in which a connection is idle.
enum Idle {
    /// The client never sent a request.
    WithoutRequest,
    /// All requests were answered.
    AfterRequests,
}

/// Waits until a connection has been idle for [`HEADER_TIMEOUT`].
///
/// Hyper's own limit starts only when hyper knows the HTTP version, for which it may wait for 24 bytes, and
/// covers only the request heads of HTTP/1. So this function waits for the first request of every connection,
/// and for pauses on HTTP/2 connections.
async fn wait_until_idle(first_request: oneshot::Receiver<()>, activity: Arc<Activity>) -> Idle {
    if tokio::time::timeout(HEADER_TIMEOUT, first_request).await.is_err() {
        return Idle::WithoutRequest;
    }
    activity.wait_until_idle(HEADER_TIMEOUT).await;
    Idle::AfterRequests
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

#[cfg(test)]
#[path = "serve_time_tests.rs"]
mod time_tests;

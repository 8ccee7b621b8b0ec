//! Accepting connections and letting go of them.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::connection_timer::ConnectionTimer;
use crate::counted::Counted;
use crate::drain::{Drain, Ticket};
use crate::edge::{Edge, EdgeService};
use crate::lane::{Conversation, Lane, Parting};
use crate::{Code, Problem};

/// How long a client may take to send its headers; at the most, twice that.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait after a failed accept (out of descriptors, mostly) before trying again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop`, then waits at most `drain` for what is under way.
pub async fn serve<L: Lane>(listener: TcpListener, edge: Edge<L>, stop: CancellationToken, drain: Duration) {
    let service = EdgeService(Arc::new(edge));
    let connections = Drain::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                spawn_connection(&connections, stream, service.clone());
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(drain, connections.finish()).await.is_err() {
        tracing::warn!("some connections did not end in time and were cut");
    }
}

fn spawn_connection<L: Lane>(connections: &Drain, stream: TcpStream, service: EdgeService<L>) {
    // Small answers must not wait for a full packet.
    let _ = stream.set_nodelay(true);
    let stream = Counted::new(stream, &service.0.measures);
    let ticket = connections.ticket();
    tokio::spawn(async move {
        if let Err(error) = converse(stream, service, ticket).await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}

/// One connection, in the lane first.
async fn converse<L: Lane>(
    mut stream: Counted,
    service: EdgeService<L>,
    mut ticket: Ticket,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let timer = ConnectionTimer::default();
    let lane = Conversation::new(&mut stream, &service.0, &mut ticket, &timer);
    let Parting::Unusual(read) = timer.clone().drive(Box::pin(lane.hold()), HEADER_TIMEOUT).await? else {
        return Ok(());
    };
    stream.give_back(read);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(timer.clone()).header_read_timeout(HEADER_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    timer.drive(ticket.watch(connection), HEADER_TIMEOUT).await
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

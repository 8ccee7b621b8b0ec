//! What happens to every request, whatever its route: plain function calls around the router, no layers.
//!
//! The server checks access, answers CORS preflights, gives each request an id, counts it, measures its time and logs
//! it. Headers, query strings and bodies are never logged, because they may contain secrets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};

use crate::connections::Connections;
use crate::direct_route::{DirectRoute, RouterOnly};
use crate::metrics::ServerMetrics;
use crate::request_id::{self, NewId, REQUEST_ID};
use crate::response_body::ResponseBody;
use crate::route_table::{RouteIndex, RouteTable};
use crate::trace_context::TraceContext;
use crate::{Code, Exposure, Problem};

/// A router with access checks, metrics and logging.
pub struct HttpServer<D: DirectRoute = RouterOnly> {
    /// The route that is tried before the router.
    pub(crate) direct_route: Option<D>,
    pub(crate) router: Router,
    pub(crate) exposure: Exposure,
    pub(crate) metrics: Arc<ServerMetrics>,
    pub(crate) connections: Arc<Connections>,
    listener: Option<Box<dyn RequestListener>>,
}

/// Called for every request when its response is ready. Must not block: the response is sent after this returns.
pub trait RequestListener: Send + Sync + 'static {
    /// A request was answered.
    fn answered(&self, request: &Answered<'_>);
}

/// A request whose response is ready.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The method.
    pub method: &'a Method,
    /// The route in the router's notation, or [`RouteTable::UNKNOWN`].
    pub route: &'static str,
    /// The path without the query, which may contain secrets.
    pub path: &'a str,
    /// The status of the response.
    pub status: StatusCode,
    /// The error code, if the response is a problem.
    pub problem: Option<Code>,
    /// The id of this request in the log and in the response.
    pub request_id: &'a str,
    /// The client's position in a distributed trace.
    pub trace: Option<&'a TraceContext>,
    /// The time from the request's head to the response's head.
    pub duration: Duration,
}

impl HttpServer {
    /// A server for a router. It counts requests, but not by route; see [`HttpServer::with_metrics`].
    #[must_use]
    pub fn new(router: Router, exposure: Exposure) -> Self {
        let metrics = Arc::new(ServerMetrics::new(RouteTable::default()));
        let connections = Arc::default();
        Self { direct_route: None, router, exposure, metrics, connections, listener: None }
    }

    /// Serves one route in front of the router.
    #[must_use]
    pub fn with_direct_route<D: DirectRoute>(self, route: D) -> HttpServer<D> {
        let Self { router, exposure, metrics, connections, listener, .. } = self;
        HttpServer { direct_route: Some(route), router, exposure, metrics, connections, listener }
    }
}

impl<D: DirectRoute> HttpServer<D> {
    /// Counts requests in `metrics`.
    #[must_use]
    pub fn with_metrics(mut self, metrics: Arc<ServerMetrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Limits the connections, and charges what they hold.
    #[must_use]
    pub fn with_connections(mut self, connections: Arc<Connections>) -> Self {
        self.connections = connections;
        self
    }

    /// Calls `listener` for every request.
    #[must_use]
    pub fn with_listener(mut self, listener: impl RequestListener) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Completes a response, counts it and reports it.
    fn finish(&self, request: RequestRecord, mut response: Response<ResponseBody>) -> Response<ResponseBody> {
        let RequestRecord { started, method, path, route, request_id, trace, origin } = request;
        let request_id = request_id.unwrap_or_else(|| NewId::generate().into());
        self.exposure.add_cors_headers(origin.as_ref(), response.headers_mut());
        let problem = response.extensions_mut().remove::<Problem>();
        let code = problem.as_ref().map(Problem::code);
        if let Some(problem) = problem {
            add_request_id(&mut response, problem, &method, &request_id);
        }
        let (status, duration) = (response.status(), started.elapsed());
        self.metrics.answered(route, &method, status, duration);
        let answered = Answered {
            method: &method,
            route: self.metrics.routes.name(route),
            path: &path,
            status,
            problem: code,
            request_id: request_id.to_str().unwrap_or("?"),
            trace: trace.as_deref(),
            duration,
        };
        log(&answered);
        if let Some(listener) = &self.listener {
            listener.answered(&answered);
        }
        response.headers_mut().insert(REQUEST_ID, request_id);
        response
    }
}

impl<D: DirectRoute> std::fmt::Debug for HttpServer<D> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { direct_route, exposure, .. } = self;
        formatter
            .debug_struct("HttpServer")
            .field("direct_route", direct_route)
            .field("exposure", exposure)
            .finish_non_exhaustive()
    }
}

/// What the server still needs from a request's head when the response is ready. The path is copied, because a
/// reference to the head would keep the connection's read buffer alive until then.
#[derive(Debug)]
struct RequestRecord {
    started: Instant,
    method: Method,
    path: Box<str>,
    route: RouteIndex,
    /// The client's own id for the request.
    request_id: Option<HeaderValue>,
    trace: Option<Box<TraceContext>>,
    origin: Option<HeaderValue>,
}

/// A request that is being answered. If it is dropped before [`InFlight::finish`], the client has disconnected, and the
/// request counts as abandoned.
pub(crate) struct InFlight<D: DirectRoute> {
    server: Arc<HttpServer<D>>,
    /// `None` once `finish` has taken it.
    request: Option<RequestRecord>,
}

impl<D: DirectRoute> InFlight<D> {
    pub(crate) fn new(server: &Arc<HttpServer<D>>, head: &Parts) -> Self {
        let path = head.uri.path();
        let request = RequestRecord {
            started: Instant::now(),
            method: head.method.clone(),
            path: path.into(),
            route: server.metrics.routes.find(path),
            request_id: request_id::of(&head.headers),
            trace: TraceContext::of(&head.headers).map(Box::new),
            origin: head.headers.get(header::ORIGIN).cloned(),
        };
        Self { server: Arc::clone(server), request: Some(request) }
    }

    /// Completes a response, counts it and reports it.
    pub(crate) fn finish(mut self, response: Response<ResponseBody>) -> Response<ResponseBody> {
        match self.request.take() {
            Some(request) => self.server.finish(request, response),
            None => response,
        }
    }
}

impl<D: DirectRoute> Drop for InFlight<D> {
    fn drop(&mut self) {
        if self.request.is_some() {
            self.server.metrics.abandoned.increment();
        }
    }
}

/// Adds the request's id to a problem, so that the request can be found in the log from the problem alone.
fn add_request_id(
    response: &mut Response<ResponseBody>,
    problem: Problem,
    method: &Method,
    request_id: &HeaderValue,
) {
    let text = problem.with("requestId", request_id.to_str().unwrap_or("?")).to_json();
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
    *response.body_mut() =
        if *method == Method::HEAD { ResponseBody::empty() } else { ResponseBody::from(text) };
}

fn log(answered: &Answered<'_>) {
    let Answered { method, route, path, status, problem, request_id, trace, duration } = answered;
    let (status, code) = (status.as_u16(), problem.map(Code::text));
    let trace_id = trace.map(TraceContext::trace_id);
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    if status >= 500 {
        tracing::warn!(%method, route, path, status, code, request_id, trace_id, micros, "request failed");
    } else {
        tracing::debug!(%method, route, path, status, code, request_id, trace_id, micros, "request");
    }
}

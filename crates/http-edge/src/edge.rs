//! What stands around a router: everything that happens to every request, as plain function calls rather than layers.
//!
//! Who may come in, CORS, a request id, the time it took, a line in the log. No header, no query and no body is ever
//! logged: those are where secrets are.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use tower::Service;

use crate::measures::EdgeMeasures;
use crate::request_id::{self, REQUEST_ID};
use crate::route_table::{RouteIndex, RouteTable};
use crate::trace_context::TraceContext;
use crate::{Code, Exposure, Problem};

/// A router with everything around it.
pub struct Edge {
    router: Router,
    exposure: Exposure,
    pub(crate) measures: Arc<EdgeMeasures>,
    listener: Option<Box<dyn RequestListener>>,
}

/// Hears of every request when its answer is ready. Must not block: it is called on the way of every answer.
pub trait RequestListener: Send + Sync + 'static {
    /// A request was answered.
    fn answered(&self, request: &Answered<'_>);
}

/// A request whose answer is ready.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The method.
    pub method: &'a Method,
    /// The route as the router writes it, or [`RouteTable::UNKNOWN`].
    pub route: &'static str,
    /// The path without the query, in which secrets may stand.
    pub path: &'a str,
    /// The status of the answer.
    pub status: StatusCode,
    /// Which problem it is, if it is one.
    pub problem: Option<Code>,
    /// The name of this request in the log and in the answer.
    pub request_id: &'a str,
    /// The caller's place in a trace.
    pub trace: Option<&'a TraceContext>,
    /// How long the answer took.
    pub duration: Duration,
}

impl Edge {
    /// A router that these may reach. Counts, but tells no routes apart.
    #[must_use]
    pub fn new(router: Router, exposure: Exposure) -> Self {
        let measures = Arc::new(EdgeMeasures::new(RouteTable::default()));
        Self { router, exposure, measures, listener: None }
    }

    /// Counts here.
    #[must_use]
    pub fn measured(mut self, measures: Arc<EdgeMeasures>) -> Self {
        self.measures = measures;
        self
    }

    /// Tells of every request.
    #[must_use]
    pub fn heard_by(mut self, listener: impl RequestListener) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let request_id = request_id::of(&parts.headers);
        let trace = TraceContext::of(&parts.headers);
        let origin = parts.headers.get(header::ORIGIN).cloned();
        let (method, uri) = (parts.method.clone(), parts.uri.clone());
        let underway = Underway { edge: self, is_over: false };
        let mut response = match self.exposure.admit(&parts) {
            Err(problem) => problem.into_response(),
            Ok(()) => match self.exposure.preflight(&parts) {
                Some(answer) => answer,
                None => self.route(Request::from_parts(parts, Body::new(body))).await,
            },
        };
        underway.over();
        self.exposure.decorate(origin.as_ref(), response.headers_mut());
        let problem = response.extensions_mut().remove::<Problem>();
        if let Some(problem) = &problem {
            name_request(&mut response, problem.clone(), &method, &request_id);
        }
        self.note(&Ended {
            method,
            uri,
            status: response.status(),
            problem: problem.map(|problem| problem.code()),
            request_id: &request_id,
            trace,
            duration: started.elapsed(),
        });
        response.headers_mut().insert(REQUEST_ID, request_id);
        response
    }

    async fn route(&self, request: Request<Body>) -> Response<Body> {
        let mut router = self.router.clone();
        match router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    fn note(&self, ended: &Ended<'_>) {
        let Ended { method, uri, status, problem, request_id, trace, duration } = ended;
        let route: RouteIndex = self.measures.routes.find(uri.path());
        self.measures.answered(route, method, *status, *duration);
        let answered = Answered {
            method,
            route: self.measures.routes.name(route),
            path: uri.path(),
            status: *status,
            problem: *problem,
            request_id: request_id.to_str().unwrap_or("?"),
            trace: trace.as_ref(),
            duration: *duration,
        };
        log(&answered);
        if let Some(listener) = &self.listener {
            listener.answered(&answered);
        }
    }
}

impl std::fmt::Debug for Edge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Edge").field("exposure", &self.exposure).finish_non_exhaustive()
    }
}

struct Ended<'a> {
    method: Method,
    uri: Uri,
    status: StatusCode,
    problem: Option<Code>,
    request_id: &'a HeaderValue,
    trace: Option<TraceContext>,
    duration: Duration,
}

/// Dropped before its time when the client leaves.
struct Underway<'a> {
    edge: &'a Edge,
    is_over: bool,
}

impl Underway<'_> {
    fn over(mut self) {
        self.is_over = true;
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.edge.measures.abandoned.increment();
        }
    }
}

/// Puts the request's id into a problem, so that whoever is shown the problem alone can still ask about it.
fn name_request(response: &mut Response<Body>, problem: Problem, method: &Method, request_id: &HeaderValue) {
    let text = problem.with("requestId", request_id.to_str().unwrap_or("?")).to_json();
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
    *response.body_mut() = if *method == Method::HEAD { Body::empty() } else { Body::from(text) };
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

/// What one connection talks to.
#[derive(Debug, Clone)]
pub(crate) struct EdgeService(pub(crate) Arc<Edge>);

impl hyper::service::Service<Request<Incoming>> for EdgeService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send + 'static>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let edge = Arc::clone(&self.0);
        Box::pin(async move { Ok(edge.answer(request).await) })
    }
}

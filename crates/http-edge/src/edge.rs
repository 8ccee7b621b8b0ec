//! What stands around a router: everything that happens to every request, as plain function calls rather than layers.
//!
//! Who may come in, CORS, a request id, the time it took, a line in the log. No header, no query and no body is ever
//! logged: those are where secrets are.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use futures_util::FutureExt;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tower::Service;

use crate::answer_body::AnswerBody;
use crate::measures::EdgeMeasures;
use crate::request_id::{self, REQUEST_ID};
use crate::route_table::{RouteIndex, RouteTable};
use crate::shortcut::{RouterOnly, Shortcut};
use crate::trace_context::TraceContext;
use crate::{Code, Exposure, Problem};

/// A router with everything around it.
pub struct Edge<S: Shortcut = RouterOnly> {
    shortcut: S,
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
        Self { shortcut: RouterOnly, router, exposure, measures, listener: None }
    }

    /// Lets a shortcut look at every request that may come in, before the router does.
    #[must_use]
    pub fn past_the_router<S: Shortcut>(self, shortcut: S) -> Edge<S> {
        let Self { router, exposure, measures, listener, .. } = self;
        Edge { shortcut, router, exposure, measures, listener }
    }
}

impl<S: Shortcut> Edge<S> {
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

    /// What is done with an answer before it is sent.
    fn conclude(&self, arrival: Arrival, mut response: Response<AnswerBody>) -> Response<AnswerBody> {
        self.exposure.decorate(arrival.origin.as_ref(), response.headers_mut());
        let problem = response.extensions_mut().remove::<Problem>();
        if let Some(problem) = &problem {
            name_request(&mut response, problem.clone(), &arrival.method, &arrival.request_id);
        }
        self.note(&arrival, response.status(), problem.map(|problem| problem.code()));
        response.headers_mut().insert(REQUEST_ID, arrival.request_id);
        response
    }

    fn note(&self, arrival: &Arrival, status: StatusCode, problem: Option<Code>) {
        let Arrival { started, method, path, request_id, trace, .. } = arrival;
        let duration = started.elapsed();
        let route: RouteIndex = self.measures.routes.find(path);
        self.measures.answered(route, method, status, duration);
        let answered = Answered {
            method,
            route: self.measures.routes.name(route),
            path,
            status,
            problem,
            request_id: request_id.to_str().unwrap_or("?"),
            trace: trace.as_deref(),
            duration,
        };
        log(&answered);
        if let Some(listener) = &self.listener {
            listener.answered(&answered);
        }
    }
}

impl<S: Shortcut> std::fmt::Debug for Edge<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Edge").field("exposure", &self.exposure).finish_non_exhaustive()
    }
}

/// What is remembered of a request until it is answered. Of its head, copies: see [`Shortcut::answer`].
struct Arrival {
    started: Instant,
    method: Method,
    path: Box<str>,
    request_id: HeaderValue,
    trace: Option<Box<TraceContext>>,
    origin: Option<HeaderValue>,
}

impl Arrival {
    fn of(parts: &Parts) -> Self {
        Self {
            started: Instant::now(),
            method: parts.method.clone(),
            path: parts.uri.path().into(),
            request_id: request_id::of(&parts.headers),
            trace: TraceContext::of(&parts.headers).map(Box::new),
            origin: parts.headers.get(header::ORIGIN).cloned(),
        }
    }
}

/// A request on its way. Dropped before its time when the client leaves.
struct Underway<S: Shortcut> {
    edge: Arc<Edge<S>>,
    arrival: Option<Arrival>,
}

impl<S: Shortcut> Underway<S> {
    fn over(mut self, response: Response<AnswerBody>) -> Result<Response<AnswerBody>, Infallible> {
        match self.arrival.take() {
            Some(arrival) => Ok(self.edge.conclude(arrival, response)),
            None => Ok(response),
        }
    }
}

impl<S: Shortcut> Drop for Underway<S> {
    fn drop(&mut self) {
        if self.arrival.is_some() {
            self.edge.measures.abandoned.increment();
        }
    }
}

/// Puts the request's id into a problem, so that whoever is shown the problem alone can still ask about it.
fn name_request(
    response: &mut Response<AnswerBody>,
    problem: Problem,
    method: &Method,
    request_id: &HeaderValue,
) {
    let text = problem.with("requestId", request_id.to_str().unwrap_or("?")).to_json();
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
    *response.body_mut() = if *method == Method::HEAD { AnswerBody::empty() } else { AnswerBody::from(text) };
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
#[derive(Debug)]
pub(crate) struct EdgeService<S: Shortcut>(pub(crate) Arc<Edge<S>>);

impl<S: Shortcut> Clone for EdgeService<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Shortcut> hyper::service::Service<Request<Incoming>> for EdgeService<S> {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send + 'static>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let edge = &*self.0;
        let (parts, body) = request.into_parts();
        let underway = Underway { edge: Arc::clone(&self.0), arrival: Some(Arrival::of(&parts)) };
        // What can be done at once is done here: a future has room for everything that it ever holds.
        let at_once = match edge.exposure.admit(&parts) {
            Err(problem) => Some(problem.into_response()),
            Ok(()) => edge.exposure.preflight(&parts),
        };
        if let Some(response) = at_once {
            return Box::pin(ready(underway.over(response.map(AnswerBody::Routed))));
        }
        if edge.shortcut.takes(&parts) {
            let answer = edge.shortcut.answer(parts, body);
            return Box::pin(answer.map(|response| underway.over(response)));
        }
        let answer = edge.router.clone().call(Request::from_parts(parts, Body::new(body)));
        Box::pin(answer.map(|routed| match routed {
            Ok(response) => underway.over(response.map(AnswerBody::Routed)),
            Err(never) => match never {},
        }))
    }
}

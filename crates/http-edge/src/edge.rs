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
use crate::lane::{Lane, RouterOnly};
use crate::measures::EdgeMeasures;
use crate::request_id::{self, NewId, REQUEST_ID};
use crate::route_table::{RouteIndex, RouteTable};
use crate::trace_context::TraceContext;
use crate::{Code, Exposure, Problem};

/// A router with everything around it.
pub struct Edge<L: Lane = RouterOnly> {
    pub(crate) lane: L,
    router: Router,
    pub(crate) exposure: Exposure,
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
        Self { lane: RouterOnly, router, exposure, measures, listener: None }
    }

    /// Lets a lane answer what it can before the router sees it.
    #[must_use]
    pub fn with_lane<L: Lane>(self, lane: L) -> Edge<L> {
        let Self { router, exposure, measures, listener, .. } = self;
        Edge { lane, router, exposure, measures, listener }
    }
}

impl<L: Lane> Edge<L> {
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

    /// What the head of a request says of who sent it.
    pub(crate) fn caller(&self, head: &Parts) -> Caller {
        let path = head.uri.path();
        Caller {
            method: head.method.clone(),
            path: path.into(),
            route: self.measures.routes.find(path),
            request_id: request_id::of(&head.headers),
            trace: TraceContext::of(&head.headers).map(Box::new),
            origin: head.headers.get(header::ORIGIN).cloned(),
        }
    }

    /// What is done with an answer before it is sent.
    pub(crate) fn conclude(
        &self,
        caller: &Caller,
        request_id: HeaderValue,
        duration: Duration,
        mut response: Response<AnswerBody>,
    ) -> Response<AnswerBody> {
        self.exposure.decorate(caller.origin.as_ref(), response.headers_mut());
        let problem = response.extensions_mut().remove::<Problem>();
        if let Some(problem) = &problem {
            name_request(&mut response, problem.clone(), &caller.method, &request_id);
        }
        let (status, problem) = (response.status(), problem.map(|problem| problem.code()));
        self.note(caller, request_id.to_str().unwrap_or("?"), duration, status, problem);
        response.headers_mut().insert(REQUEST_ID, request_id);
        response
    }

    /// Counts an answer and tells of it.
    pub(crate) fn note(
        &self,
        caller: &Caller,
        request_id: &str,
        duration: Duration,
        status: StatusCode,
        problem: Option<Code>,
    ) {
        let Caller { method, path, route, trace, .. } = caller;
        self.measures.answered(*route, method, status, duration);
        let route = self.measures.routes.name(*route);
        let trace = trace.as_deref();
        let answered = Answered { method, route, path, status, problem, request_id, trace, duration };
        log(&answered);
        if let Some(listener) = &self.listener {
            listener.answered(&answered);
        }
    }
}

impl<L: Lane> std::fmt::Debug for Edge<L> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Edge").field("exposure", &self.exposure).finish_non_exhaustive()
    }
}

/// What is remembered of a request's head until it is answered. Copies: to hold on to the head itself is to hold the
/// memory that the next one of the connection would be read into.
#[derive(Debug)]
pub(crate) struct Caller {
    method: Method,
    path: Box<str>,
    route: RouteIndex,
    /// The caller's own name for the request.
    pub(crate) request_id: Option<HeaderValue>,
    trace: Option<Box<TraceContext>>,
    pub(crate) origin: Option<HeaderValue>,
}

impl Caller {
    /// The request's name: the caller's, or a new one.
    pub(crate) fn name(&self) -> HeaderValue {
        self.request_id.clone().unwrap_or_else(|| NewId::draw().into())
    }
}

/// A request on its way. Dropped before its time when the client leaves.
struct Underway<L: Lane> {
    edge: Arc<Edge<L>>,
    started: Instant,
    caller: Option<Caller>,
}

impl<L: Lane> Underway<L> {
    fn over(mut self, response: Response<AnswerBody>) -> Result<Response<AnswerBody>, Infallible> {
        match self.caller.take() {
            Some(caller) => Ok(self.edge.conclude(&caller, caller.name(), self.started.elapsed(), response)),
            None => Ok(response),
        }
    }
}

impl<L: Lane> Drop for Underway<L> {
    fn drop(&mut self) {
        if self.caller.is_some() {
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
pub(crate) struct EdgeService<L: Lane>(pub(crate) Arc<Edge<L>>);

impl<L: Lane> Clone for EdgeService<L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<L: Lane> hyper::service::Service<Request<Incoming>> for EdgeService<L> {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send + 'static>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let edge = &*self.0;
        let (parts, body) = request.into_parts();
        let (started, caller) = (Instant::now(), Some(edge.caller(&parts)));
        let underway = Underway { edge: Arc::clone(&self.0), started, caller };
        let at_once = match edge.exposure.admit(&parts) {
            Err(problem) => Some(problem.into_response()),
            Ok(()) => edge.exposure.preflight(&parts),
        };
        if let Some(response) = at_once {
            return Box::pin(ready(underway.over(response.map(AnswerBody::Routed))));
        }
        let answer = edge.router.clone().call(Request::from_parts(parts, Body::new(body)));
        Box::pin(answer.map(|routed| match routed {
            Ok(response) => underway.over(response.map(AnswerBody::Routed)),
            Err(never) => match never {},
        }))
    }
}

//! A way past the router, for the one route that is asked thousands of times a second.
//!
//! The router finds a handler by the path, puts what it found into a map of the request, and wraps the handler, the body
//! and the answer into boxes. That was a tenth of the time that the server itself spends on handing a message on. So a
//! shortcut may look at a request first. What it does not take goes to the router, which has the same route and calls the
//! same functions for it.

use axum::response::IntoResponse;
use http::Response;
use http::request::Parts;
use hyper::body::Incoming;

use crate::answer_body::AnswerBody;
use crate::{Code, Problem};

/// A body as it comes in.
pub type RequestBody = Incoming;

/// Takes requests before the router sees them.
pub trait Shortcut: std::fmt::Debug + Send + Sync + 'static {
    /// Whether it takes a request.
    fn takes(&self, parts: &Parts) -> bool;

    /// Answers a request that it takes. Whatever holds on to the request's head while the answer is waited for also holds
    /// the memory that the next request of the connection would be read into.
    fn answer(
        &self,
        parts: Parts,
        body: RequestBody,
    ) -> impl Future<Output = Response<AnswerBody>> + Send + 'static;
}

/// No shortcut: the router sees everything.
#[derive(Debug, Clone, Copy)]
pub struct RouterOnly;

impl Shortcut for RouterOnly {
    fn takes(&self, _parts: &Parts) -> bool {
        false
    }

    fn answer(
        &self,
        _parts: Parts,
        _body: RequestBody,
    ) -> impl Future<Output = Response<AnswerBody>> + Send + 'static {
        let problem = Problem::new(Code::Internal, "a request was taken past the router by nobody");
        std::future::ready(problem.into_response().map(AnswerBody::Routed))
    }
}

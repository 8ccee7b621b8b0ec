//! A route that is served in front of the router, for the one kind of request that arrives thousands of times a second.
//!
//! Hyper reads the request as usual, and [`HttpServer`](crate::HttpServer) treats it like every other request. Only
//! the router's path lookup, extension map and boxed services are skipped.

use bytes::Bytes;
use http::Response;
use http::request::Parts;

use crate::{Problem, RequestBody};

/// Serves one hot route without the router's maps and boxes. The router also has this route and calls the same
/// functions.
pub trait DirectRoute: std::fmt::Debug + Send + Sync + 'static {
    /// True when this route serves the request.
    fn serves(&self, head: &Parts) -> bool;

    /// Answers a request for which [`serves`](Self::serves) is true.
    ///
    /// An answer may take an hour. `head` keeps the connection's read buffer alive, so drop it before the first long
    /// wait.
    fn call(
        &self,
        head: Parts,
        body: RequestBody,
    ) -> impl Future<Output = Result<Response<Bytes>, Problem>> + Send + 'static;
}

/// The type of the direct route of a server without a direct route. It has no values, so it can never be
/// called.
#[derive(Debug, Clone, Copy)]
pub enum RouterOnly {}

impl DirectRoute for RouterOnly {
    fn serves(&self, _head: &Parts) -> bool {
        match *self {}
    }

    fn call(
        &self,
        _head: Parts,
        _body: RequestBody,
    ) -> impl Future<Output = Result<Response<Bytes>, Problem>> + Send + 'static {
        let never = *self;
        async move { match never {} }
    }
}

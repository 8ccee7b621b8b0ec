//! The parts of HTTP that all endpoints share. This crate knows nothing about agents, files or configuration.
//!
//! - [`codes`]: the closed list of error codes. `docs/errors.md` is generated from it.
//! - [`problem`]: RFC 9457 problem documents, the format of every error that the server sends.
//! - [`document`]: how the API document describes problems; runs only in tests.
//! - [`exposure`]: which clients may use the server: bearer token, host names, origins, CORS.
//! - [`negotiate`]: `Accept` and `Content-Type`.
//! - [`query`]: query strings, with errors that name the parameter.
//! - [`request_body`]: the body of a request, with limits for clients that stop sending or are rejected.
//! - [`routes`]: a router that keeps a list of its routes.
//! - [`server`]: what happens to every request, whatever its route.
//! - [`direct_route`]: one hot route that is served in front of the router.
//! - `service`: the service that hyper calls; `response_body` is the body of its responses.
//! - [`connections`]: what open connections hold, and the limits on all of them together.
//! - [`metrics`]: counters of connections and requests.
//! - [`route_table`]: which route a path belongs to.
//! - [`trace_context`]: the client's position in a distributed trace.
//! - [`serve`]: accepting connections, and closing them when the server stops.
//! - [`sse`]: the headers of a stream of server-sent events.

mod activity;
pub mod codes;
pub mod connections;
mod counted_stream;
pub mod direct_route;
pub mod document;
pub mod exposure;
mod held;
pub mod metrics;
pub mod negotiate;
pub mod problem;
pub mod query;
pub mod request_body;
mod request_id;
mod response_body;
pub mod route_table;
pub mod routes;
pub mod serve;
pub mod server;
mod service;
pub mod sse;
#[cfg(test)]
mod test_client;
#[cfg(test)]
mod test_server;
pub mod trace_context;
mod tracked_body;

pub use codes::Code;
pub use connections::{ConnectionLimits, ConnectionMemory, Connections};
pub use direct_route::{DirectRoute, RouterOnly};
pub use exposure::{Exposure, ExposureError, Origin, Token};
pub use held::ChargedBody;
pub use metrics::ServerMetrics;
pub use problem::Problem;
pub use query::Query;
pub use request_body::RequestBody;
pub use route_table::RouteTable;
pub use routes::{Route, Routes};
pub use server::{Answered, HttpServer, RequestListener};
pub use trace_context::TraceContext;

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

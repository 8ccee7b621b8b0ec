//! What every HTTP surface here needs, and nothing about agents, files or configuration.
//!
//! - [`codes`]: the closed list of error codes. Documentation is made from it.
//! - [`problem`]: RFC 9457 problem documents, the only shape in which an error leaves the server.
//! - [`document`]: problems as the API document describes them; runs in tests only.
//! - [`exposure`]: who may talk to the server: bearer token, host names, origins, CORS.
//! - [`negotiate`]: `Accept` and `Content-Type`.
//! - [`query`]: query strings, with errors that name the parameter.
//! - [`routes`]: a router that remembers what it was given.
//! - [`server`]: what happens to every request, whatever its route.
//! - [`direct_route`]: one hot route that is served in front of the router.
//! - `service`: the server as hyper calls it; `answer_body` is the body of its answers.
//! - [`metrics`]: what is counted of connections and requests.
//! - [`route_table`]: which route a path belongs to.
//! - [`trace_context`]: the caller's place in a distributed trace.
//! - [`serve`]: accepting connections, and closing them when the server stops.
//! - [`sse`]: the frame around a stream of server-sent events.

mod answer_body;
pub mod codes;
mod counted;
pub mod direct_route;
pub mod document;
pub mod exposure;
pub mod metrics;
pub mod negotiate;
pub mod problem;
pub mod query;
mod request_id;
pub mod route_table;
pub mod routes;
pub mod serve;
pub mod server;
mod service;
pub mod sse;
#[cfg(test)]
mod test_client;
pub mod trace_context;

pub use codes::Code;
pub use direct_route::{DirectRoute, RouterOnly};
pub use exposure::{Exposure, ExposureError, Origin, Token};
pub use metrics::ServerMetrics;
pub use problem::Problem;
pub use query::Query;
pub use route_table::RouteTable;
pub use routes::{Route, Routes};
pub use server::{Answered, HttpServer, RequestListener};
pub use trace_context::TraceContext;

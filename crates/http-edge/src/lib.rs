//! What every HTTP surface here needs, and nothing about agents, files or configuration.
//!
//! - [`codes`]: the closed list of error codes. Documentation is made from it.
//! - [`problem`]: RFC 9457 problem documents, the only shape in which an error leaves the server.
//! - [`document`]: problems as the API document describes them; runs in tests only.
//! - [`exposure`]: who may talk to the server: bearer token, host names, origins, CORS.
//! - [`negotiate`]: `Accept` and `Content-Type`.
//! - [`query`]: query strings, with errors that name the parameter.
//! - [`routes`]: a router that remembers what it was given.
//! - [`edge`]: what happens to every request, whatever its route.
//! - [`lane`]: where a connection begins, and small messages are answered; its parts are `plain_head`, `answer_head`.
//! - `answer_body`: what is sent behind the head of an answer.
//! - [`measures`]: what is counted of connections and requests.
//! - [`route_table`]: which route a path belongs to.
//! - [`trace_context`]: the caller's place in a distributed trace.
//! - [`serve`]: accepting connections and letting go of them.
//! - [`sse`]: the frame around a stream of server-sent events.

mod answer_body;
mod answer_head;
pub mod codes;
mod connection_timer;
mod counted;
pub mod document;
mod drain;
pub mod edge;
pub mod exposure;
pub mod lane;
pub mod measures;
pub mod negotiate;
mod plain_head;
pub mod problem;
pub mod query;
mod request_id;
pub mod route_table;
pub mod routes;
pub mod serve;
pub mod sse;
pub mod trace_context;

pub use codes::Code;
pub use edge::{Answered, Edge, RequestListener};
pub use exposure::{Exposure, ExposureError, Origin, Token};
pub use lane::{Lane, LaneAnswer, RouterOnly};
pub use measures::EdgeMeasures;
pub use problem::Problem;
pub use query::Query;
pub use route_table::RouteTable;
pub use routes::{Route, Routes};
pub use trace_context::TraceContext;

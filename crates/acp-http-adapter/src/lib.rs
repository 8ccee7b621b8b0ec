//! ACP agent instances over HTTP: `/v1/acp` and `/v1/acp/{server_id}`.
//!
//! This crate is a *door*: a thin HTTP layer over the engine, [`acp_instances::Instances`]. It turns requests
//! into calls, and events into server-sent events. The engine's errors become problem documents in exactly
//! one place, [`to_problem`]. This crate makes no decisions about instances.
//!
//! ```text
//! POST body -> http::body (size, memory) -> Instances::send -> http::post (the answer)
//! Instances::subscribe -> stream -> frame (server-sent events) -> GET
//! ```

mod document;
mod door;
mod frame;
mod http;
mod metrics;
mod problem;
mod stream;
mod wire;

pub use document::AcpDocument;
pub use door::{AcpDoor, DoorSettings};
pub use problem::{start_failure_to_problem, to_problem};

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

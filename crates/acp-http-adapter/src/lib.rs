//! One agent process on stdio behind one HTTP endpoint.
//!
//! A message walks one way:
//!
//! ```text
//! HTTP body -> envelope -> instance -> stdin          (http::post, envelope, instance::arrive, instance::stdin)
//! stdout -> envelope -> log -> server-sent events     (instance::stdout, envelope, log, stream)
//! ```
//!
//! The bytes of a message are never rebuilt; the only thing read is the JSON-RPC envelope. This crate knows
//! nothing of agents, files or configuration: a [`Launcher`] says what to start.

mod awaited;
mod bridge;
mod budget;
mod clock;
mod document;
mod envelope;
mod exit_record;
mod http;
mod idempotency;
mod instance;
mod launcher;
mod limits;
mod log;
mod measures;
mod pending;
mod registry;
mod request_id;
mod server_id;
mod shared;
mod stream;

pub use bridge::Bridge;
pub use document::BridgeDocument;
pub use envelope::{Envelope, EnvelopeError};
pub use exit_record::{ExitReason, ExitReport};
pub use instance::{AwaitingSummary, InstanceStatus, Summary};
pub use launcher::{BoxFuture, Launcher, Prepared};
pub use limits::Limits;
pub use request_id::RequestId;
pub use server_id::ServerId;

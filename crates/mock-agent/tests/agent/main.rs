//! The built binary, driven over real stdio with hand-written JSON-RPC lines.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod cancellation;
mod client_requests;
mod client_side;
mod concurrency;
mod faults;
mod handshake;
mod harness;
mod prompts;
mod reports;
mod sessions;

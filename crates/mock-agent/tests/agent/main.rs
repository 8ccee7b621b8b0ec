//! The built binary, driven over real stdio with hand-written JSON-RPC lines.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod asking;
mod cancelling;
mod client_side;
mod faults;
mod handshake;
mod harness;
mod reporting;
mod sessions;
mod talking;
mod together;

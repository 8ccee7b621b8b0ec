//! The scripted model over real HTTP: each wire format, streamed and not, and every script.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod anthropic;
mod chat;
mod endings;
mod exposure;
mod gemini;
mod responses;
mod support;
mod titles;

//! The installer suite: agents that are not installed yet, tested against the built binary over real HTTP and with
//! the real command line. The catalog's own tests cover its internals; these cover what users see.
//!
//! Everything comes from a server in the test, except one small real agent from npm.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod support;

mod bundles;
mod command_line;
mod explicit;
mod failures;
mod interruptions;
mod lazy;
mod listing;
mod maintenance;
mod probing;
mod real_agent;
mod remote_command_line;
mod sharing;

//! The installer suite: agents that are not there yet, against the built binary, over real HTTP and the real command
//! line. What the catalog does by itself is shown by its own tests; here it is shown as a user meets it.
//!
//! Everything comes from a server in the test, but for one small real agent that comes from npm.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod support;

mod bundles;
mod command_line;
mod explicit;
mod failures;
mod interruptions;
mod lazy;
mod listing;
mod probing;
mod real_agent;
mod remote_command_line;
mod sharing;

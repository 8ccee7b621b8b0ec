//! The contract, shown against the built binary over real HTTP with real processes.
//!
//! One module a suite, one test a rule: a test's name is the rule that it shows.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod harness;

mod transport_contract;

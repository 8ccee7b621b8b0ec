//! The contract, tested against the built binary over real HTTP with real processes.
//!
//! One module per suite, one test per rule: a test's name states the rule.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]
#![allow(clippy::needless_pass_by_value, reason = "`json!({...})` is easiest to read inline")]

mod acp_conformance;
mod api_document;
mod durability;
mod errors;
mod faults;
mod process_rules;
mod removal_contract;
mod security_and_auth_isolation;
mod shutdown;
mod transport_contract;

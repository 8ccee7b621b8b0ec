//! The contract, shown against the built binary over real HTTP with real processes.
//!
//! One module a suite, one test a rule: a test's name is the rule that it shows.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]
#![allow(clippy::needless_pass_by_value, reason = "`json!({...})` reads best where it stands")]

mod acp_conformance;
mod api_document;
mod errors;
mod faults;
mod process_rules;
mod removal_contract;
mod security_and_auth_isolation;
mod shutdown;
mod transport_contract;

//! What can be seen of a running server from outside, shown against the built binary.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

#[allow(
    dead_code,
    unused_imports,
    clippy::needless_pass_by_value,
    reason = "shared with the contract suite, which uses more of it and is where it is judged"
)]
#[path = "../contract/harness/mod.rs"]
mod harness;

mod documentation;
mod exposition;
mod limits;
mod logs;
mod metrics;
mod service_manager;

/// In a network namespace of its own, so this is in `make test-builds`.
mod privileged {
    mod telemetry;
}

//! What can be seen of a running server from outside, shown against the built binary.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

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

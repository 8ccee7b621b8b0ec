//! Metrics, logs and notifications of a running server, tested against the built binary.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod documentation;
mod exposition;
mod limits;
mod logs;
mod metrics;
mod monitoring;
mod promql;
mod service_manager;

/// This test needs a network namespace of its own, so it runs in `make test-builds`.
mod privileged {
    mod telemetry;
}

//! The code that the test suites share: a server per test, a plain HTTP client, a stream reader, and a view
//! of processes.
//!
//! All functions block, and all have a deadline: a test that waits in vain fails; it never hangs.
//!
//! - [`server`], [`http`], [`sse`], [`rpc`]: the product over raw sockets, for tests that care about every byte.
//! - [`files`]: the product through an ordinary HTTP client, for the suites about files and configuration.
//! - [`process`]: processes as `/proc` shows them.
//! - [`installs`]: an agent whose download a test controls.
//! - [`deploying_page`]: the code blocks of `docs/deploying.md`.

#![allow(missing_docs, reason = "test code: names and the tests that use them say enough")]
#![allow(clippy::needless_pass_by_value, reason = "`json!({...})` reads best where it stands")]
#![allow(clippy::should_implement_trait, reason = "`next` blocks and panics, which an iterator should not")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

pub mod deploying_page;
pub mod files;
pub mod http;
pub mod installs;
pub mod process;
pub mod rpc;
pub mod server;
pub mod sse;

use std::time::{Duration, Instant};

pub use http::{Request, Response};
pub use process::Process;
pub use server::{Server, ServerBuilder};
pub use sse::{Event, Stream};

/// The deadline for things that should happen at once. It is generous, since a longer deadline only costs
/// time when a test fails.
pub const SOON: Duration = Duration::from_secs(20);

/// Calls `ask` until it returns something.
#[track_caller]
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "did not happen within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

//! What the tests stand on: a server of their own, a plain HTTP client, a stream reader, and eyes on processes.
//!
//! Everything blocks and everything has a deadline: a test that waits for what does not come fails, it never hangs.

pub(crate) mod http;
pub(crate) mod installs;
pub(crate) mod process;
pub(crate) mod rpc;
pub(crate) mod server;
pub(crate) mod sse;

use std::time::{Duration, Instant};

pub(crate) use http::{Request, Response};
pub(crate) use process::Process;
pub(crate) use server::{Server, ServerBuilder};
pub(crate) use sse::{Event, Stream};

/// How long anything may take that should happen at once. Generous, since it only costs time when a test fails.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Asks again and again until there is an answer.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "in {SOON:?} it did not happen: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

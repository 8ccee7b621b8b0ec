//! Runs work that waits for a disk outside the threads that serve connections.

use http_server::{Code, Problem};

/// Runs the work on a blocking thread. It runs to completion even if the caller stops waiting.
///
/// # Errors
/// 500 `internal` when the work panics.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| interrupted(&error))
}

/// Runs the work as its own task, so that it continues when the client disconnects.
///
/// # Errors
/// The error of the work, or 500 `internal` when it panics.
pub(super) async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work).await.map_err(|error| interrupted(&error))?
}

/// The problem for work that did not complete.
pub(super) fn interrupted(error: &tokio::task::JoinError) -> Problem {
    tracing::error!(%error, "the work for a request did not complete");
    Problem::new(Code::Internal, "internal error; see the server's log")
}

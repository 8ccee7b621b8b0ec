//! Work that waits for a disk, away from the threads that serve connections.

use http_server::{Code, Problem};

/// Does the work on a thread of its own. It runs to its end whether or not somebody still waits for it.
///
/// # Errors
/// 500 `internal` when the work panics.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| interrupted(&error))
}

/// Does the work as a task of its own, so that it survives a client that does not wait for the answer.
///
/// # Errors
/// What the work says, or 500 `internal` when it panics.
pub(super) async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work).await.map_err(|error| interrupted(&error))?
}

/// The problem of work that did not come to an end.
pub(super) fn interrupted(error: &tokio::task::JoinError) -> Problem {
    tracing::error!(%error, "work on a request did not come to its end");
    Problem::new(Code::Internal, "the server made a mistake; its log has the rest")
}

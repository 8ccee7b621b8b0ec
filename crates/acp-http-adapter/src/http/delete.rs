//! `DELETE /v1/acp/{server_id}`: the end of an instance.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use http_edge::{Code, Problem};

use crate::instance::CloseReason;
use crate::registry::Registry;
use crate::server_id::ServerId;

/// Answers when the process tree is gone; 204 also when there was none.
pub(super) async fn delete(
    State(registry): State<Arc<Registry>>,
    server_id: ServerId,
) -> Result<StatusCode, Problem> {
    if let Some(instance) = registry.find(&server_id) {
        // In a task of its own: it goes on to its end whether or not the client stays.
        let closing = tokio::spawn(async move { registry.close(&instance, CloseReason::Asked).await });
        closing.await.map_err(|_| Problem::new(Code::Internal, "closing the instance went wrong"))?;
    }
    Ok(StatusCode::NO_CONTENT)
}

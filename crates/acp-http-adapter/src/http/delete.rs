//! `DELETE /v1/acp/{server_id}`: the end of an instance.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use http_edge::{Code, Problem, problems};

use crate::instance::CloseReason;
use crate::registry::Registry;
use crate::server_id::ServerId;

problems!(pub(crate) DeleteProblems: InvalidServerId, Internal);

/// Ends an instance
///
/// Closes the agent's standard input, then ends its whole process tree. Answers when the tree is gone; 204 also when
/// there was none. Requests that wait are failed with 502 `instance_closed`.
#[utoipa::path(
    delete,
    path = "/v1/acp/{server_id}",
    operation_id = "closeInstance",
    tag = "instances",
    params(("server_id" = ServerId, Path, example = "demo", description = "The client's own name for the instance.")),
    responses((status = 204, description = "The instance and all its processes are gone."), DeleteProblems)
)]
pub(crate) async fn delete(
    State(registry): State<Arc<Registry>>,
    server_id: ServerId,
) -> Result<StatusCode, Problem> {
    if let Some(instance) = registry.find(server_id.as_str()) {
        // In a task of its own: it goes on to its end whether or not the client stays.
        let closing = tokio::spawn(async move { registry.close(&instance, CloseReason::Asked).await });
        closing.await.map_err(|_| Problem::new(Code::Internal, "closing the instance went wrong"))?;
    }
    Ok(StatusCode::NO_CONTENT)
}

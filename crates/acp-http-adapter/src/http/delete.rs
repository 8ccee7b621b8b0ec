//! `DELETE /v1/acp/{server_id}`: the end of an instance.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use http_server::{Problem, problems};

use super::PathId;
use crate::door::DoorState;
use crate::problem::to_problem;

problems!(pub(crate) DeleteProblems: InvalidServerId, Internal, Unavailable);

/// Ends an instance
///
/// Closes the agent's standard input, then ends its whole process tree. Answers when the tree is gone; 204 also when
/// there was none. Requests that wait are failed with 502 `instance_closed`.
#[utoipa::path(
    delete,
    path = "/v1/acp/{server_id}",
    operation_id = "closeInstance",
    tag = "instances",
    params(("server_id" = PathId, Path, example = "demo", description = "The client's own name for the instance.")),
    responses((status = 204, description = "The instance and all its processes are gone."), DeleteProblems)
)]
pub(crate) async fn delete(
    State(door): State<Arc<DoorState>>,
    PathId(server_id): PathId,
) -> Result<StatusCode, Problem> {
    door.instances.close(&server_id).await.map_err(|error| to_problem(&error))?;
    Ok(StatusCode::NO_CONTENT)
}

//! `DELETE /v1/acp/{server_id}`: closes an instance.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use http_server::{Problem, problems};

use super::PathId;
use crate::door::DoorState;
use crate::problem::to_problem;

problems!(pub(crate) DeleteProblems: InvalidServerId, StillRunning, Internal, Unavailable);

/// Closes an instance
///
/// Closes the agent's standard input, then ends its whole process tree. Answers when the tree has ended, or at once
/// with 204 if there is no such instance. Pending requests fail with 502 `instance_closed`. If processes survive SIGKILL
/// (another user's, or stuck in the kernel), the answer is 504 `still_running` a second after both grace periods, and the
/// instance stays `closing` until they end.
#[utoipa::path(
    delete,
    path = "/v1/acp/{server_id}",
    operation_id = "closeInstance",
    tag = "instances",
    params(("server_id" = PathId, Path, example = "demo", description = "The client's own name for the instance.")),
    responses((status = 204, description = "The instance is closed and all its processes have ended."), DeleteProblems)
)]
pub(crate) async fn delete(
    State(door): State<Arc<DoorState>>,
    PathId(server_id): PathId,
) -> Result<StatusCode, Problem> {
    door.instances.close(&server_id).await.map_err(|error| to_problem(&error))?;
    Ok(StatusCode::NO_CONTENT)
}

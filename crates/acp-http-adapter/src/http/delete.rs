//! `DELETE /v1/acp/{server_id}`: closes an instance.

use std::sync::Arc;

use axum::extract::{Request, State};
use http::StatusCode;
use http_server::{Problem, Query, problems, query};
use utoipa::ToSchema;

use super::PathId;
use crate::door::DoorState;
use crate::problem::to_problem;

problems!(pub(crate) DeleteProblems: InvalidServerId, InvalidParameter, StillRunning, Internal, Unavailable);

/// What happens to the stored history of a closed instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum History {
    /// It stays until its retention ends.
    Keep,
    /// It is deleted, with that of earlier instances of the same name.
    Delete,
}

impl History {
    fn of(query: &Query<'_>) -> Result<Self, Problem> {
        match query.one("history")? {
            None | Some("keep") => Ok(Self::Keep),
            Some("delete") => Ok(Self::Delete),
            Some(other) => {
                Err(query::invalid("history", format!("`history` must be keep or delete, not `{other}`")))
            }
        }
    }
}

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
    params(
        ("server_id" = PathId, Path, example = "demo", description = "The client's own name for the instance."),
        ("history" = inline(Option<History>), Query, description = "Whether the stored history stays until its retention ends, or is deleted."),
    ),
    responses((status = 204, description = "The instance is closed and all its processes have ended."), DeleteProblems)
)]
pub(crate) async fn delete(
    State(door): State<Arc<DoorState>>,
    PathId(server_id): PathId,
    request: Request,
) -> Result<StatusCode, Problem> {
    let history = History::of(&Query::of(request.uri()))?;
    door.instances.close(&server_id).await.map_err(|error| to_problem(&error))?;
    if history == History::Delete {
        door.instances.forget(&server_id).await.map_err(|error| to_problem(&error))?;
    }
    Ok(StatusCode::NO_CONTENT)
}

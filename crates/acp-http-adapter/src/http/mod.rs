//! The HTTP endpoints of this crate.

mod body;
mod cursor;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
mod path;
pub(crate) mod post;
mod prefer;

use std::sync::Arc;

use http_server::Routes;

pub(crate) use self::path::PathId;
use crate::door::DoorState;

/// The routes, without fallbacks.
pub(crate) fn routes(door: Arc<DoorState>) -> Routes {
    Routes::new()
        .get("/v1/acp", list::list)
        .get("/v1/acp/{server_id}", get::stream)
        .post("/v1/acp/{server_id}", post::post)
        .delete("/v1/acp/{server_id}", delete::delete)
        .with_state(door)
}

//! The HTTP endpoints of the bridge: `/v1/acp` and `/v1/acp/{server_id}`.

mod body;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod post;
mod prefer;

use std::sync::Arc;

use http_edge::Routes;

use crate::registry::Registry;

/// The routes, without fallbacks.
pub(crate) fn routes(registry: Arc<Registry>) -> Routes {
    Routes::new()
        .get("/v1/acp", list::list)
        .get("/v1/acp/{server_id}", get::stream)
        .post("/v1/acp/{server_id}", post::post)
        .delete("/v1/acp/{server_id}", delete::delete)
        .with_state(registry)
}

//! The HTTP endpoints of the bridge: `/v1/acp` and `/v1/acp/{server_id}`.

mod body;
mod delete;
mod get;
mod list;
mod post;
mod prefer;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::registry::Registry;

/// The routes, without fallbacks.
pub(crate) fn routes(registry: Arc<Registry>) -> Router {
    Router::new()
        .route("/v1/acp", get(list::list))
        .route("/v1/acp/{server_id}", get(get::stream).post(post::post).delete(delete::delete))
        .with_state(registry)
}

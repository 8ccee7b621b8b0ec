//! Every path the server has.

mod health;
mod removed;

use acp_http_adapter::Bridge;
use axum::Router;
use http_edge::serve::with_fallbacks;

pub(crate) use self::health::VERSION;

/// All routes, with problems for whatever is not one.
pub(crate) fn all(bridge: &Bridge) -> Router {
    with_fallbacks(Router::new().merge(health::routes()).merge(removed::routes()).merge(bridge.routes()))
}

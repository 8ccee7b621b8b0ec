//! Every path the server has.

mod agents;
mod blocking;
mod config;
mod fs;
mod health;
mod removed;
mod ui;
mod upload;

use acp_http_adapter::Bridge;
use agent_catalog::Catalog;
use axum::Router;
use http_edge::serve::with_fallbacks;

pub(crate) use self::config::Configuration;
pub(crate) use self::fs::Files;
pub(crate) use self::health::VERSION;

/// What the routes stand on.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    pub(crate) bridge: Bridge,
    pub(crate) catalog: Catalog,
    pub(crate) files: Files,
    pub(crate) configuration: Configuration,
}

/// All routes, with problems for whatever is not one.
pub(crate) fn all(services: Services) -> Router {
    let Services { bridge, catalog, files, configuration } = services;
    with_fallbacks(
        Router::new()
            .merge(health::routes())
            .merge(removed::routes())
            .merge(ui::routes())
            .merge(bridge.routes())
            .merge(agents::routes(catalog, bridge))
            .merge(fs::routes(files))
            .merge(config::routes(configuration)),
    )
}

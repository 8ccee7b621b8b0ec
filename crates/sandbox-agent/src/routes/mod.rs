//! Every path the server has.

mod agents;
mod blocking;
mod compressed;
mod config;
#[cfg(test)]
mod document;
mod fs;
mod health;
mod openapi;
mod removed;
mod ui;
mod upload;

use acp_http_adapter::Bridge;
use agent_catalog::Catalog;
use axum::Router;
use http_edge::Routes;
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
    with_fallbacks(listed(services).into_router())
}

/// All routes, as the API document must have them.
fn listed(services: Services) -> Routes {
    let Services { bridge, catalog, files, configuration } = services;
    Routes::new()
        .merge(health::routes())
        .merge(openapi::routes())
        .merge(removed::routes())
        .merge(ui::routes())
        .merge(bridge.routes())
        .merge(agents::routes(catalog, bridge))
        .merge(fs::routes(files))
        .merge(config::routes(configuration))
}

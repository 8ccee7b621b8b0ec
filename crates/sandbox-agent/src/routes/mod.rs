//! Every path the server has.

mod agents;
mod blocking;
mod compressed;
mod config;
#[cfg(test)]
mod document;
mod fs;
mod health;
mod metrics;
mod openapi;
mod removed;
mod ui;
mod upload;

use std::sync::Arc;

use acp_http_adapter::Bridge;
use agent_catalog::Catalog;
use axum::Router;
use http_edge::Routes;
use http_edge::serve::with_fallbacks;
use http_edge::{EdgeMeasures, RouteTable};

pub(crate) use self::config::Configuration;
pub(crate) use self::fs::Files;
pub(crate) use self::health::VERSION;
use crate::settings::EffectiveLimits;

/// What the routes stand on.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    pub(crate) bridge: Bridge,
    pub(crate) catalog: Catalog,
    pub(crate) files: Files,
    pub(crate) configuration: Configuration,
    pub(crate) limits: EffectiveLimits,
}

/// The routes that are told apart when requests are counted; the busiest first.
const TEMPLATES: [&str; 32] = [
    "/v1/acp/{server_id}",
    "/v1/acp",
    "/v1/fs/file",
    "/v1/fs/entries",
    "/v1/fs/stat",
    "/v1/fs/entry",
    "/v1/fs/mkdir",
    "/v1/fs/move",
    "/v1/fs/upload-batch",
    "/v1/fs/download-batch",
    "/v1/fs/watch",
    "/v1/config/mcp",
    "/v1/config/mcp/entries",
    "/v1/config/skills",
    "/v1/config/skills/entries",
    "/v1/agents",
    "/v1/agents/{agent}",
    "/v1/agents/{agent}/install",
    "/v1/agents/{agent}/models",
    "/v1/agents/{agent}/modes",
    "/v1/health",
    "/v1/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    "/",
    "/ui",
    "/ui/",
    "/ui/{*path}",
    "/v1/rpc",
    "/v1/sessions",
    "/v1/sessions/{*rest}",
];

/// All routes, with problems for whatever is not one, and what counts their requests.
pub(crate) fn all(services: Services) -> (Router, Arc<EdgeMeasures>) {
    let edge = Arc::new(EdgeMeasures::new(RouteTable::new(TEMPLATES)));
    let router = with_fallbacks(listed(services, &edge).into_router());
    (router, edge)
}

/// All routes, as the API document must have them.
fn listed(services: Services, edge: &Arc<EdgeMeasures>) -> Routes {
    let Services { bridge, catalog, files, configuration, limits } = services;
    let counting = metrics::Counting {
        edge: Arc::clone(edge),
        bridge: bridge.clone(),
        catalog: catalog.clone(),
        files: files.clone(),
    };
    Routes::new()
        .merge(metrics::routes(counting))
        .merge(health::routes(limits))
        .merge(openapi::routes())
        .merge(removed::routes())
        .merge(ui::routes())
        .merge(bridge.routes())
        .merge(agents::routes(catalog, bridge))
        .merge(fs::routes(files))
        .merge(config::routes(configuration))
}

//! All routes of the server.

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

use acp_http_adapter::AcpDoor;
use axum::Router;
use http_server::serve::with_fallbacks;
use http_server::{RouteTable, Routes, ServerMetrics};

pub(crate) use self::config::Configuration;
pub(crate) use self::fs::Files;
pub(crate) use self::health::{JournalState, VERSION};
use crate::engine::Engine;
use crate::settings::EffectiveLimits;

/// The services behind the routes.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    pub(crate) engine: Engine,
    pub(crate) door: AcpDoor,
    pub(crate) files: Files,
    pub(crate) configuration: Configuration,
    pub(crate) limits: EffectiveLimits,
    pub(crate) journal: JournalState,
}

/// The router with all routes, which answers unknown paths with problems, and the metrics of its requests.
pub(crate) fn build_router(services: Services) -> (Router, Arc<ServerMetrics>) {
    let (routes, server) = build_routes(services);
    (with_fallbacks(routes.into_router()), server)
}

/// All routes, and the metrics of their requests. The busiest routes come first, because the metrics look for a
/// request's route in this order.
fn build_routes(services: Services) -> (Routes, Arc<ServerMetrics>) {
    let Services { engine, door, files, configuration, limits, journal } = services;
    let Engine { instances, local, catalog } = engine;
    let routes = Routes::new()
        .merge(door.routes())
        .merge(fs::routes(files.clone()))
        .merge(agents::routes(catalog.clone(), instances))
        .merge(config::routes(configuration))
        .merge(health::routes(health::Sources { limits, journal, instances: local.clone() }))
        .merge(openapi::routes())
        .merge(ui::routes())
        .merge(removed::routes());
    let templates = routes.listed().iter().map(|route| route.path).chain([metrics::PATH]);
    let server = Arc::new(ServerMetrics::new(RouteTable::new(templates)));
    let sources =
        metrics::MetricSources { server: Arc::clone(&server), instances: local, door, catalog, files };
    (routes.merge(metrics::routes(sources)), server)
}

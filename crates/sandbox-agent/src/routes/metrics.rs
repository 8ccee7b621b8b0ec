//! `GET /metrics`: everything that is counted, for Prometheus and every other reader of its format.
//!
//! The server answers requests for it and never sends it anywhere on its own.

use std::sync::Arc;

use acp_http_adapter::AcpDoor;
use acp_instances::LocalInstances;
use agent_catalog::Catalog;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use http_server::{Routes, ServerMetrics};
use metrics::{CONTENT_TYPE, Exposition};

use super::{Files, VERSION};

/// Everything that counts.
#[derive(Debug, Clone)]
pub(super) struct Counting {
    pub(super) server: Arc<ServerMetrics>,
    pub(super) instances: LocalInstances,
    pub(super) door: AcpDoor,
    pub(super) catalog: Catalog,
    pub(super) files: Files,
}

/// Where it is.
pub(super) const PATH: &str = "/metrics";

pub(super) fn routes(counting: Counting) -> Routes {
    Routes::new().get(PATH, metrics).with_state(counting)
}

/// Tells everything that is counted
///
/// In the text format of Prometheus.
#[cfg_attr(test, utoipa::path(
    get, path = "/metrics", operation_id = "getMetrics", tag = "server",
    responses(
        (status = 200, description = "What is counted now.", content_type = "text/plain", body = String),
        super::health::document::Protected
    )
))]
async fn metrics(State(counting): State<Counting>) -> Response {
    let Counting { server, instances, door, catalog, files } = counting;
    let mut text = Exposition::default();
    text.gauge("sandbox_agent_build_info", "Always 1; its label is the version of the server.")
        .value(&[("version", VERSION)], 1);
    instances.expose(&mut text);
    door.expose(&mut text);
    server.expose(&mut text);
    let installs = catalog.install_counts();
    text.counter("sandbox_agent_installs_total", "Installs of agents, by how they ended.")
        .value(&[("outcome", "installed")], installs.installed)
        .value(&[("outcome", "already_installed")], installs.already_installed)
        .value(&[("outcome", "failed")], installs.failed);
    files.expose(&mut text);
    crate::process_metrics::expose(&mut text);
    ([(header::CONTENT_TYPE, CONTENT_TYPE), (header::CACHE_CONTROL, "no-store")], text.finish())
        .into_response()
}

#[cfg(test)]
#[derive(utoipa::OpenApi)]
#[openapi(paths(metrics))]
pub(super) struct Document;

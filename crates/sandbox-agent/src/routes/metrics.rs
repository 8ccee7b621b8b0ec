//! `GET /metrics`: all metrics, in the Prometheus text format.
//!
//! The server only answers scrapes; it never pushes metrics anywhere.

use std::sync::Arc;

use acp_http_adapter::AcpDoor;
use acp_instances::LocalInstances;
use agent_catalog::Catalog;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use http_server::{Problem, Routes, ServerMetrics};
use metrics::{CONTENT_TYPE, Exposition};

use super::blocking::blocking;
use super::{Files, VERSION};

/// Everything that has metrics.
#[derive(Debug, Clone)]
pub(super) struct MetricSources {
    pub(super) server: Arc<ServerMetrics>,
    pub(super) instances: LocalInstances,
    pub(super) door: AcpDoor,
    pub(super) catalog: Catalog,
    pub(super) files: Files,
}

/// The path of the endpoint.
pub(super) const PATH: &str = "/metrics";

pub(super) fn routes(sources: MetricSources) -> Routes {
    Routes::new().get(PATH, metrics).with_state(sources)
}

/// Shows all metrics
///
/// In the Prometheus text format.
#[cfg_attr(test, utoipa::path(
    get, path = "/metrics", operation_id = "getMetrics", tag = "server",
    responses(
        (status = 200, description = "The current metrics.", content_type = "text/plain", body = String),
        super::health::document::Protected
    )
))]
async fn metrics(State(sources): State<MetricSources>) -> Result<Response, Problem> {
    // Some values are read from `/proc`, which takes a while on a machine with many processes.
    let text = blocking(move || render(sources)).await?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE), (header::CACHE_CONTROL, "no-store")], text).into_response())
}

fn render(sources: MetricSources) -> String {
    let MetricSources { server, instances, door, catalog, files } = sources;
    let mut text = Exposition::default();
    text.gauge("sandbox_agent_build_info", "Always 1; the label is the version of the server.")
        .value(&[("version", VERSION)], 1);
    instances.expose(&mut text);
    door.expose(&mut text);
    server.expose(&mut text);
    let installs = catalog.install_counts();
    text.counter("sandbox_agent_installs_total", "Installs of agents, by outcome.")
        .value(&[("outcome", "installed")], installs.installed)
        .value(&[("outcome", "already_installed")], installs.already_installed)
        .value(&[("outcome", "failed")], installs.failed);
    files.expose(&mut text);
    text.counter(
        "sandbox_agent_log_lines_dropped_total",
        "Log lines that were dropped because standard error was not read.",
    )
    .value(&[], crate::log_writer::dropped_lines());
    crate::process_metrics::expose(&mut text);
    text.finish()
}

#[cfg(test)]
#[derive(utoipa::OpenApi)]
#[openapi(paths(metrics))]
pub(super) struct Document;

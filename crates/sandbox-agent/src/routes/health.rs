//! Health and version of the server, for people, clients and orchestrators.

use std::sync::LazyLock;
use std::time::Instant;

use acp_instances::LocalInstances;
use axum::Json;
use axum::extract::State;
use http_server::Routes;
use serde::Serialize;

use crate::settings::EffectiveLimits;

/// The version of the product.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Where health is read from.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    pub(super) limits: EffectiveLimits,
    pub(super) journal: JournalState,
    pub(super) instances: LocalInstances,
}

/// Whether the server keeps a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum JournalState {
    /// Events are kept on disk and survive the server.
    On,
    /// Events are kept in memory only, as configured.
    Off,
    /// Another server uses the journal, so this one keeps events in memory only.
    Locked,
    /// The journal cannot be written for now, so some events are kept in memory only.
    Suspended,
}

/// The journal of the server.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = JournalHealth))]
#[serde(rename_all = "camelCase")]
struct Journal {
    /// Whether events are kept on disk.
    status: JournalState,
    /// The size of the journal on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(nullable = false))]
    bytes: Option<u64>,
}

impl Journal {
    fn of(state: JournalState, instances: &LocalInstances) -> Self {
        match instances.journal() {
            None => Self { status: state, bytes: None },
            Some((stats, suspended)) => Self {
                status: if suspended > 0 { JournalState::Suspended } else { state },
                bytes: Some(stats.bytes),
            },
        }
    }
}

pub(super) fn routes(sources: Sources) -> Routes {
    LazyLock::force(&STARTED);
    Routes::new()
        .get("/", root)
        .get("/healthz", alive)
        .get("/readyz", ready)
        .get("/v1/health", health)
        .with_state(sources)
}

/// The server's name, version and links.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = ServerInfo))]
struct Root {
    name: &'static str,
    version: &'static str,
    links: Links,
}

/// The paths of the main endpoints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = ServerLinks))]
struct Links {
    health: &'static str,
    agents: &'static str,
    instances: &'static str,
    instance: &'static str,
    openapi: &'static str,
    inspector: &'static str,
    metrics: &'static str,
}

/// Shows the server's name, version and links
#[cfg_attr(test, utoipa::path(
    get, path = "/", operation_id = "getRoot", tag = "server", security(()),
    responses((status = 200, description = "The server's name, version and links.", body = Root), document::Open)
))]
async fn root() -> Json<Root> {
    let links = Links {
        health: "/v1/health",
        agents: "/v1/agents",
        instances: "/v1/acp",
        instance: "/v1/acp/{server_id}",
        openapi: "/v1/openapi.json",
        inspector: "/ui/",
        metrics: "/metrics",
    };
    Json(Root { name: "sandbox-agent", version: VERSION, links })
}

/// The state and the limits of the server.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct Health {
    /// `ok` when the server is healthy.
    status: Status,
    /// The version of the server.
    version: &'static str,
    /// How long the server has been running, in milliseconds.
    uptime_ms: u64,
    /// Whether the server keeps a journal.
    journal: Journal,
    /// The effective limits.
    limits: EffectiveLimits,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = HealthStatus))]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
}

/// Shows the server's health and limits
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/health", operation_id = "getHealth", tag = "server",
    responses((status = 200, description = "The server is healthy.", body = Health), document::Protected)
))]
async fn health(State(sources): State<Sources>) -> Json<Health> {
    let Sources { limits, journal, instances } = sources;
    let journal = Journal::of(journal, &instances);
    let uptime_ms = u64::try_from(STARTED.elapsed().as_millis()).unwrap_or(u64::MAX);
    Json(Health { status: Status::Ok, version: VERSION, uptime_ms, journal, limits })
}

/// Answers while the process is alive
#[cfg_attr(test, utoipa::path(
    get, path = "/healthz", operation_id = "getLiveness", tag = "server", security(()),
    responses((status = 200, description = "`ok`", content_type = "text/plain", body = String), document::Open)
))]
async fn alive() -> &'static str {
    "ok"
}

/// Answers when the server accepts requests
#[cfg_attr(test, utoipa::path(
    get, path = "/readyz", operation_id = "getReadiness", tag = "server", security(()),
    responses((status = 200, description = "`ok`", content_type = "text/plain", body = String), document::Open)
))]
async fn ready() -> &'static str {
    "ok"
}

#[cfg(test)]
pub(super) mod document {
    use http_server::document::{ResponseMap, open};

    #[derive(utoipa::OpenApi)]
    #[openapi(paths(super::root, super::health, super::alive, super::ready))]
    pub(in crate::routes) struct Document;

    http_server::problems!(pub(in crate::routes) Protected:);

    /// The problems of operations that need no token.
    pub(in crate::routes) struct Open;

    impl utoipa::IntoResponses for Open {
        fn responses() -> ResponseMap {
            open(&[])
        }
    }
}

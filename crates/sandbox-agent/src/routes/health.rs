//! Whether the server is there: for people, for clients, and for whoever keeps it running.

use std::sync::LazyLock;
use std::time::Instant;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use serde_json::{Value, json};

use crate::settings::EffectiveLimits;

/// The version of the product.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How the server is and what it is bounded by.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: &'static str,
    version: &'static str,
    uptime_ms: u64,
    limits: EffectiveLimits,
}

pub(super) fn routes(limits: EffectiveLimits) -> Router {
    LazyLock::force(&STARTED);
    Router::new()
        .route("/", get(root))
        .route("/healthz", get(alive))
        .route("/readyz", get(alive))
        .route("/v1/health", get(health))
        .with_state(limits)
}

async fn root() -> Json<Value> {
    Json(json!({
        "name": "sandbox-agent",
        "version": VERSION,
        "links": {
            "health": "/v1/health",
            "agents": "/v1/agents",
            "instances": "/v1/acp",
            "instance": "/v1/acp/{server_id}",
            "inspector": "/ui/",
            "metrics": "/metrics",
        },
    }))
}

async fn health(State(limits): State<EffectiveLimits>) -> Json<Health> {
    let uptime_ms = u64::try_from(STARTED.elapsed().as_millis()).unwrap_or(u64::MAX);
    Json(Health { status: "ok", version: VERSION, uptime_ms, limits })
}

async fn alive() -> &'static str {
    "ok"
}

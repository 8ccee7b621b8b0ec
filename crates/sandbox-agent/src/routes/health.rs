//! Whether the server is there: for people, for clients, and for whoever keeps it running.

use std::sync::LazyLock;
use std::time::Instant;

use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

/// The version of the product.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

pub(super) fn routes() -> Router {
    LazyLock::force(&STARTED);
    Router::new()
        .route("/", get(root))
        .route("/healthz", get(alive))
        .route("/readyz", get(alive))
        .route("/v1/health", get(health))
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
        },
    }))
}

async fn health() -> Json<Value> {
    let uptime = u64::try_from(STARTED.elapsed().as_millis()).unwrap_or(u64::MAX);
    Json(json!({"status": "ok", "version": VERSION, "uptimeMs": uptime}))
}

async fn alive() -> &'static str {
    "ok"
}

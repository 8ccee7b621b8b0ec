//! Endpoints of older designs, which say what replaced them.

use axum::Router;
use axum::extract::Request;
use axum::routing::any;
use http_edge::{Code, Problem};

pub(super) fn routes() -> Router {
    let acp = "/v1/acp/{server_id}";
    let sessions = "session/list and session/load over /v1/acp/{server_id}";
    let agent = "GET /v1/agents/{agent}";
    [
        ("/v1/rpc", acp),
        ("/v1/sessions", sessions),
        ("/v1/sessions/", sessions),
        ("/v1/sessions/{*rest}", sessions),
        ("/v1/agents/{agent}/models", agent),
        ("/v1/agents/{agent}/modes", agent),
    ]
    .into_iter()
    .fold(Router::new(), |router, (path, replacement)| {
        router.route(
            path,
            any(move |request: Request| async move { removed(request.uri().path(), replacement) }),
        )
    })
}

fn removed(path: &str, replacement: &str) -> Problem {
    Problem::new(Code::Removed, format!("{path} was removed; use {replacement}"))
        .with("replacement", replacement)
}

//! `GET /v1/acp`: all instances, as a list or as one stream.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use http_edge::{Code, Problem, Query, negotiate};

use super::get::{replay_of, view_of};
use crate::registry::Registry;
use crate::server_id::ServerId;
use crate::stream::{ManyFeed, Selection, respond};

/// The list, or with `Accept: text/event-stream` everything that happens.
pub(super) async fn list(
    State(registry): State<Arc<Registry>>,
    request: Request,
) -> Result<Response, Problem> {
    if wants_stream(request.headers()) {
        return stream(registry, &request);
    }
    negotiate::require_accept(request.headers(), "application/json")?;
    let list = serde_json::to_string(&registry.summaries())
        .map_err(|error| Problem::new(Code::Internal, format!("cannot write the list: {error}")))?;
    let mut response = Response::new(format!(r#"{{"servers":{list}}}"#).into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn stream(registry: Arc<Registry>, request: &Request) -> Result<Response, Problem> {
    let query = Query::of(request.uri());
    let ids =
        query.all("server").map(ServerId::parse).collect::<Result<std::collections::HashSet<_>, _>>()?;
    let selection = if ids.is_empty() { Selection::All } else { Selection::These(ids) };
    let cursor = ManyFeed::cursor_of(request.headers(), replay_of(&query)?)?;
    let view = view_of(&query)?;
    let (changed, heartbeat) = (registry.shared.watch(), registry.shared.limits.heartbeat);
    Ok(respond(ManyFeed::new(registry, selection, view, cursor), changed, heartbeat))
}

/// Only who asks for a stream by name gets one: `*/*` is a person with curl.
fn wants_stream(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            range.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("text/event-stream"))
        })
}

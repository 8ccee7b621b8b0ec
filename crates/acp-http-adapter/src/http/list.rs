//! `GET /v1/acp`: all instances, as a list or as one stream.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use http_edge::{Code, Problem, Query, negotiate, problems};

use super::get::{replay_of, view_of};
use crate::document::ManyStreamEvent;
use crate::instance::InstanceList;
use crate::registry::Registry;
use crate::server_id::ServerId;
use crate::stream::{ManyFeed, Replay, Selection, View, respond};

problems!(pub(crate) ListProblems: InvalidServerId, InvalidParameter, InvalidCursor, NotAcceptable, Internal);

/// Lists the instances, or streams many of them
///
/// With `Accept: text/event-stream` it streams the events of many instances on one connection: first `instances`, the
/// list as it is now, then every event of each with the instance's id, and `opened` and `closed` as instances come and
/// go. Every `id` is a journal number, one cursor for all.
#[utoipa::path(
    get,
    path = "/v1/acp",
    operation_id = "listInstances",
    tag = "instances",
    params(
        ("server" = Option<Vec<ServerId>>, Query, style = Form, explode, description = "Only these instances; may be repeated."),
        ("view" = inline(Option<View>), Query, description = "What to stream: the agents' messages, or both directions."),
        ("replay" = inline(Option<Replay>), Query, description = "Without a cursor: start at the oldest event held, or at the newest."),
        ("Last-Event-ID" = Option<String>, Header, pattern = "^(0|j[0-9]{1,19})?$", nullable = false, description = "The `id` of the last event seen on this stream: `j` and a number."),
    ),
    responses(
        (status = 200, description = "The list, or the stream.", content(
            (InstanceList = "application/json"),
            (ManyStreamEvent = "text/event-stream")
        )),
        ListProblems
    )
)]
pub(crate) async fn list(
    State(registry): State<Arc<Registry>>,
    request: Request,
) -> Result<Response, Problem> {
    let query = Query::of(request.uri());
    let ids =
        query.all("server").map(ServerId::parse).collect::<Result<std::collections::HashSet<_>, _>>()?;
    let selection = if ids.is_empty() { Selection::All } else { Selection::These(ids) };
    let view = view_of(&query)?;
    let cursor = ManyFeed::cursor_of(request.headers(), replay_of(&query)?)?;
    if wants_stream(request.headers()) {
        let (changed, heartbeat) = (registry.shared.watch(), registry.shared.limits.heartbeat);
        return Ok(respond(ManyFeed::new(registry, selection, view, cursor), changed, heartbeat));
    }
    negotiate::require_accept(request.headers(), "application/json")?;
    let list = serde_json::to_string(&InstanceList { servers: registry.summaries(|id| selection.has(id)) })
        .map_err(|error| Problem::new(Code::Internal, format!("cannot write the list: {error}")))?;
    let mut response = Response::new(list.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
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

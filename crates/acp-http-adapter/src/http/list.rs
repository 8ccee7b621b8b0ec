//! `GET /v1/acp`: all instances, as a list or as one stream.

use std::collections::HashSet;
use std::sync::Arc;

use acp_instances::{Page, Selection, ServerId, SubscribeAll, Summary};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use http_server::{Problem, Query, negotiate, problems};

use super::PathId;
use super::cursor::{Listed, Replay, View, journal_cursor};
use crate::document::ManyStreamEvent;
use crate::door::DoorState;
use crate::problem::to_problem;
use crate::stream::{Shown, respond};
use crate::wire::InstanceList;

problems!(pub(crate) ListProblems: InvalidServerId, InvalidParameter, InvalidCursor, NotAcceptable, Internal, Unavailable);

/// Lists the instances, or streams their events
///
/// With `Accept: text/event-stream` this streams the events of several instances on one connection: first `instances`
/// with the current list, then every event with the id of its instance, and `opened` and `closed` when an instance is
/// created or closed. Every `id` is a journal number, which is a cursor for all instances.
#[utoipa::path(
    get,
    path = "/v1/acp",
    operation_id = "listInstances",
    tag = "instances",
    params(
        ("server" = Option<Vec<PathId>>, Query, style = Form, explode, description = "Only these instances; repeatable."),
        ("view" = inline(Option<View>), Query, description = "What to stream: the agents' messages, or messages in both directions."),
        ("status" = inline(Option<Listed>), Query, description = "Which instances to list: those that exist, or also closed ones whose history is stored."),
        ("replay" = inline(Option<Replay>), Query, description = "Where to start without a cursor: at the oldest stored event, or at the newest."),
        ("Last-Event-ID" = Option<String>, Header, pattern = "^(0|j[0-9]{1,19})?$", nullable = false, description = "The `id` of the last event received on this stream: `j` and a number."),
    ),
    responses(
        (status = 200, description = "The list, or the stream.", content(
            (InstanceList = "application/json"),
            (ManyStreamEvent = "text/event-stream")
        )),
        ListProblems
    )
)]
pub(crate) async fn list(State(door): State<Arc<DoorState>>, request: Request) -> Result<Response, Problem> {
    let query = Query::of(request.uri());
    let ids = query.all("server").map(PathId::parse).collect::<Result<HashSet<_>, _>>()?;
    let (view, listed) = (View::of(&query)?, Listed::of(&query)?);
    let from = journal_cursor(request.headers(), Replay::of(&query)?)?;
    if wants_stream(request.headers()) {
        let selection = if ids.is_empty() { Selection::All } else { Selection::These(ids) };
        let subscribe = SubscribeAll { selection, with_sent: view == View::Journal, from };
        let subscription =
            door.instances.subscribe_all(subscribe).await.map_err(|error| to_problem(&error))?;
        return Ok(respond(door, subscription, Shown::Many));
    }
    negotiate::require_accept(request.headers(), "application/json")?;
    let only = (!ids.is_empty()).then(|| ids.into_iter().collect());
    let list = InstanceList::new(&all_pages(&door, only, listed).await?).to_json();
    let mut response = Response::new(list.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

async fn all_pages(
    door: &DoorState,
    only: Option<Vec<ServerId>>,
    listed: Listed,
) -> Result<Vec<Summary>, Problem> {
    let mut page = Page { only, with_past: listed == Listed::All, ..Page::default() };
    let mut all = Vec::new();
    loop {
        let listing = door.instances.list(page.clone()).await.map_err(|error| to_problem(&error))?;
        all.extend(listing.instances);
        match listing.next {
            Some(next) => page.after = Some(next),
            None => return Ok(all),
        }
    }
}

/// True when the client names the media type of streams explicitly. A client with `*/*`, such as curl, gets the list.
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

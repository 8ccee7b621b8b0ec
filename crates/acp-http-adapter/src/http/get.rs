//! `GET /v1/acp/{server_id}`: the stream of one instance.

use std::sync::Arc;

use acp_instances::{From, Subscribe};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http_server::{Problem, Query, negotiate, problems};

use super::PathId;
use super::cursor::{Replay, View, journal_cursor, message_cursor};
use crate::document::StreamEvent;
use crate::door::DoorState;
use crate::problem::to_problem;
use crate::stream::{Shown, respond};

problems!(pub(crate) StreamProblems:
    InvalidServerId, InvalidParameter, InvalidCursor, UnknownServer, NotAcceptable, InstanceClosing, Unavailable);

/// Streams the events of one instance
///
/// Server-sent events. `message` contains a JSON-RPC message from the agent, with its sequence number as `id`. The
/// events `gap`, `unparsed`, `answered`, `failed` and `exit` are not messages. `exit` ends the stream. With
/// `view=journal` the messages of clients are included as `sent`, and every `id` is a journal number that starts with
/// `j`. A comment is sent every 15 seconds. Every reader receives all events.
#[utoipa::path(
    get,
    path = "/v1/acp/{server_id}",
    operation_id = "streamInstance",
    tag = "instances",
    params(
        ("server_id" = PathId, Path, example = "demo", description = "The client's own name for the instance."),
        ("view" = inline(Option<View>), Query, description = "What to stream: the agent's messages, or messages in both directions."),
        ("replay" = inline(Option<Replay>), Query, description = "Where to start without a cursor: at the oldest stored event, or at the newest."),
        ("Last-Event-ID" = Option<String>, Header, pattern = "^(j?[0-9]{1,19})?$", nullable = false, description = "The `id` of the last event received: a number, or with `view=journal` a `j` and a number."),
    ),
    responses(
        (status = 200, description = "The events, until the agent ends.", content_type = "text/event-stream", body = StreamEvent),
        (status = 204, description = "The agent has ended and the reader has received all events."),
        StreamProblems
    )
)]
pub(crate) async fn stream(
    State(door): State<Arc<DoorState>>,
    PathId(server_id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    negotiate::require_accept(request.headers(), "text/event-stream")?;
    let query = Query::of(request.uri());
    let (view, replay) = (View::of(&query)?, Replay::of(&query)?);
    let from = match view {
        View::Messages => message_cursor(request.headers(), replay).map(From::Messages),
        View::Journal => journal_cursor(request.headers(), replay).map(From::Journal),
    };
    let from = match from {
        Ok(from) => from,
        Err(problem) => {
            // If the instance does not exist, that error is more useful than the one about the header.
            door.instances.get(&server_id).await.map_err(|error| to_problem(&error))?;
            return Err(problem);
        }
    };
    let subscribe = Subscribe { from, only_answers_to: None };
    let subscribed = door.instances.subscribe(&server_id, subscribe).await;
    let shown = if view == View::Messages { Shown::Messages } else { Shown::Journal };
    Ok(match subscribed.map_err(|error| to_problem(&error))? {
        Some(subscription) => respond(door, subscription, shown),
        // This stops an `EventSource` from reconnecting forever.
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

//! `GET /v1/acp/{server_id}`: the stream of one instance.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http_edge::{Code, Problem, Query, negotiate, problems, query};

use crate::document::StreamEvent;
use crate::instance::{Instance, Phase};
use crate::registry::Registry;
use crate::server_id::ServerId;
use crate::stream::{JournalCursor, JournalFeed, MessageCursor, MessageFeed, Replay, View, respond};

problems!(pub(crate) StreamProblems:
    InvalidServerId, InvalidParameter, InvalidCursor, UnknownServer, NotAcceptable, InstanceClosing);

/// Streams what the agent says
///
/// Server-sent events. `message` carries a JSON-RPC message of the agent and has its number as `id`; `gap`, `unparsed`,
/// `answered`, `failed` and `exit` are told beside them and are no messages. `exit` ends the stream. With
/// `view=journal` the messages of clients are there as well, as `sent`, and every `id` is a journal number, `j` first.
/// A comment comes every 15 seconds. Any number of readers each get everything.
#[utoipa::path(
    get,
    path = "/v1/acp/{server_id}",
    operation_id = "streamInstance",
    tag = "instances",
    params(
        ("server_id" = ServerId, Path, example = "demo", description = "The client's own name for the instance."),
        ("view" = inline(Option<View>), Query, description = "What to stream: the agent's messages, or both directions."),
        ("replay" = inline(Option<Replay>), Query, description = "Without a cursor: start at the oldest event held, or at the newest."),
        ("Last-Event-ID" = Option<String>, Header, pattern = "^(j?[0-9]{1,19})?$", nullable = false, description = "The `id` of the last event seen: a number, or `j` and a number with `view=journal`."),
    ),
    responses(
        (status = 200, description = "The events, until the agent ends.", content_type = "text/event-stream", body = StreamEvent),
        (status = 204, description = "The agent has ended and the reader has seen all of it."),
        StreamProblems
    )
)]
pub(crate) async fn stream(
    State(registry): State<Arc<Registry>>,
    server_id: ServerId,
    request: Request,
) -> Result<Response, Problem> {
    negotiate::require_accept(request.headers(), "text/event-stream")?;
    let query = Query::of(request.uri());
    let (view, replay) = (view_of(&query)?, replay_of(&query)?);
    let instance = registry.find(server_id.as_str()).ok_or_else(|| {
        Problem::new(
            Code::UnknownServer,
            format!("no instance has the id {server_id}; the first POST with ?agent= makes one"),
        )
    })?;
    if matches!(instance.lock().phase, Phase::Closing | Phase::Gone(_)) {
        return Err(instance.lock().refusal());
    }
    let heartbeat = registry.shared.limits.heartbeat;
    Ok(match view {
        View::Journal => {
            let cursor = JournalCursor::of(request.headers(), replay)?;
            if has_seen_the_whole_journal(&instance, cursor) {
                return Ok(StatusCode::NO_CONTENT.into_response());
            }
            let changed = instance.watch_journal();
            respond(JournalFeed::new(instance, cursor), changed, heartbeat)
        }
        View::Messages => {
            let cursor = MessageCursor::of(request.headers(), replay)?;
            if has_seen_the_end(&instance, cursor) {
                return Ok(StatusCode::NO_CONTENT.into_response());
            }
            let changed = instance.watch();
            respond(MessageFeed::new(instance, cursor), changed, heartbeat)
        }
    })
}

/// 204 is what stops an `EventSource` from coming back for ever.
fn has_seen_the_end(instance: &Instance, cursor: MessageCursor) -> bool {
    match (&instance.lock().phase, cursor) {
        (Phase::Exited(record), MessageCursor::After(sequence)) => sequence >= record.event,
        _ => false,
    }
}

/// The same for a journal. A number that was never drawn is not the end but another life: that is told as a gap.
fn has_seen_the_whole_journal(instance: &Instance, cursor: JournalCursor) -> bool {
    let state = instance.lock();
    match (&state.phase, cursor) {
        (Phase::Exited(_), JournalCursor::After(journal)) => {
            (state.log.newest_journal()..=instance.shared.newest_journal()).contains(&journal)
        }
        _ => false,
    }
}

pub(super) fn view_of(query: &Query<'_>) -> Result<View, Problem> {
    match query.one("view")? {
        None | Some("messages") => Ok(View::Messages),
        Some("journal") => Ok(View::Journal),
        Some(other) => Err(query::invalid("view", format!("`view` is messages or journal, not `{other}`"))),
    }
}

pub(super) fn replay_of(query: &Query<'_>) -> Result<Replay, Problem> {
    match query.one("replay")? {
        None | Some("all") => Ok(Replay::All),
        Some("none") => Ok(Replay::Nothing),
        Some(other) => Err(query::invalid("replay", format!("`replay` is all or none, not `{other}`"))),
    }
}

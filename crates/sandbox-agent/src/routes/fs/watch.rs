//! `GET /v1/fs/watch`: changes as they happen, as server-sent events.
//!
//! Events have no ids and nothing is replayed: a reader that comes back lists the directory again, as one that is told
//! of an `overflow` does. A slow reader slows nobody; what it is too slow for becomes one `overflow`.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http_server::sse::{self, GREETING, HEARTBEAT};
use http_server::{Code, Problem, Query, negotiate};
use sandbox_fs::{Change, Depth, WatchOptions, Watcher};
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[cfg(test)]
use super::document::{ChangeEvent, Watching};
use super::problem::to_problem;
use super::{Files, path_or_workspace, shown};
use crate::routes::blocking::blocking;

const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// How often the watching thread looks whether anybody still reads.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Events between the watching thread and the connection.
const EVENTS_AHEAD: usize = 64;

/// Streams what changes in a directory
///
/// Server-sent events without ids: `created`, `changed`, `removed`, `renamed`, and `overflow` when some were missed
/// and the directory is to be listed again. Nothing is replayed. A comment comes every 15 seconds.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/fs/watch",
    operation_id = "watchFiles",
    tag = "files",
    params(
        ("path" = Option<String>, Query, example = "src", pattern = "^[^\\u0000]*$", description = "Absolute, or relative to the workspace, which it is when left out."),
        ("recursive" = Option<bool>, Query, description = "Watch all below it as well, which is the default."),
    ),
    responses(
        (status = 200, description = "The events, for as long as the client stays.", content_type = "text/event-stream", body = ChangeEvent),
        Watching
    )
))]
pub(super) async fn watch(State(files): State<Files>, request: Request) -> Result<Response, Problem> {
    negotiate::require_accept(request.headers(), "text/event-stream")?;
    let query = Query::of(request.uri());
    let path = path_or_workspace(request.uri())?;
    let recursive = query.one("recursive")?.is_none() || query.switch("recursive")?;
    let depth = if recursive { Depth::Recursive } else { Depth::Children };
    let options = WatchOptions { depth, ..WatchOptions::default() };
    let service = files.service.clone();
    let (watched, watcher) = blocking(move || {
        let watcher = service.watch(&path, &options)?;
        Ok((shown(&service.shown_path(&path)?), watcher))
    })
    .await?
    .map_err(to_problem)?;
    let (sender, events) = mpsc::channel(EVENTS_AHEAD);
    // A watch lasts for as long as its reader likes, so it gets a thread of its own and takes none from the pool.
    std::thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || forward(watcher, &watched, &sender))
        .map_err(|error| {
        Problem::new(Code::OutOfResources, format!("cannot start a thread: {error}; try again later"))
            .retry_after(5)
    })?;
    Ok(respond(events, files.stop))
}

fn forward(mut watcher: Watcher, watched: &str, sender: &mpsc::Sender<Bytes>) {
    while !sender.is_closed() {
        let Some(change) = watcher.next(LOOK_EVERY) else { continue };
        if sender.blocking_send(event(&change, watched)).is_err() {
            return;
        }
    }
}

/// What happened to one path.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PathChange {
    path: String,
}

/// One path that became another.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Renaming {
    from: String,
    to: String,
}

fn event(change: &Change, watched: &str) -> Bytes {
    let one = |path: &Path| json!(PathChange { path: shown(path) });
    let (name, data) = match change {
        Change::Created(path) => ("created", one(path)),
        Change::Changed(path) => ("changed", one(path)),
        Change::Removed(path) => ("removed", one(path)),
        Change::Renamed { from, to } => ("renamed", json!(Renaming { from: shown(from), to: shown(to) })),
        Change::Overflow => ("overflow", json!(PathChange { path: watched.to_owned() })),
    };
    // JSON escapes every line break, so the data is one line.
    format!("event: {name}\ndata: {data}\n\n").into()
}

fn respond(events: mpsc::Receiver<Bytes>, stop: CancellationToken) -> Response {
    let start = (Some(Bytes::from_static(GREETING)), events, stop);
    let frames = stream::unfold(start, |(greeting, mut events, stop)| async move {
        let frame = match greeting {
            Some(greeting) => greeting,
            None => tokio::select! {
                event = events.recv() => event?,
                () = tokio::time::sleep(HEARTBEAT_EVERY) => Bytes::from_static(HEARTBEAT),
                () = stop.cancelled() => return None,
            },
        };
        Some((Ok::<_, Infallible>(frame), (None, events, stop)))
    });
    sse::response(Body::from_stream(frames))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_of_data_whatever_the_name() {
        let text = event(&Change::Created("/w/a\nb\r".into()), "/w");
        assert_eq!(text, "event: created\ndata: {\"path\":\"/w/a\\nb\\r\"}\n\n");
        assert_eq!(event(&Change::Overflow, "/w"), "event: overflow\ndata: {\"path\":\"/w\"}\n\n");
    }
}

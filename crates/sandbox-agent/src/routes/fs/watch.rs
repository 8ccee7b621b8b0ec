//! `GET /v1/fs/watch`: changes as they happen, as server-sent events.
//!
//! Events have no ids and are not replayed: a client that reconnects lists the directory again, as it does after an
//! `overflow`. A slow client slows down nothing else; the events that it misses become one `overflow`.

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
use super::{Files, path_or_workspace, path_text};
use crate::routes::blocking::blocking;

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// How often the watching thread checks whether the client is still connected.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How many events are buffered between the watching thread and the connection.
const BUFFERED_EVENTS: usize = 64;

/// Streams the changes in a directory
///
/// Server-sent events without ids: `created`, `changed`, `removed`, `renamed`, and `overflow` when events were missed
/// and the directory must be listed again. Events are not replayed. A comment is sent every 15 seconds.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/fs/watch",
    operation_id = "watchFiles",
    tag = "files",
    params(
        ("path" = Option<String>, Query, example = "src", pattern = "^[^\\u0000]*$", description = "Absolute, or relative to the workspace. Default: the workspace."),
        ("recursive" = Option<bool>, Query, description = "Include all subdirectories. Default: true."),
    ),
    responses(
        (status = 200, description = "The events, until the client disconnects.", content_type = "text/event-stream", body = ChangeEvent),
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
        Ok((path_text(&service.shown_path(&path)?), watcher))
    })
    .await?
    .map_err(to_problem)?;
    let (sender, events) = mpsc::channel(BUFFERED_EVENTS);
    // A watch lasts until its client disconnects, so it gets its own thread instead of one from the pool.
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
        let Some(change) = watcher.next(CHECK_INTERVAL) else { continue };
        if sender.blocking_send(event(&change, watched)).is_err() {
            return;
        }
    }
}

/// A change of one path.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PathChange {
    path: String,
}

/// The old and the new path.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Renaming {
    from: String,
    to: String,
}

fn event(change: &Change, watched: &str) -> Bytes {
    let one = |path: &Path| json!(PathChange { path: path_text(path) });
    let (name, data) = match change {
        Change::Created(path) => ("created", one(path)),
        Change::Changed(path) => ("changed", one(path)),
        Change::Removed(path) => ("removed", one(path)),
        Change::Renamed { from, to } => {
            ("renamed", json!(Renaming { from: path_text(from), to: path_text(to) }))
        }
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
                () = tokio::time::sleep(HEARTBEAT_INTERVAL) => Bytes::from_static(HEARTBEAT),
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
    fn the_data_of_an_event_is_one_line_for_any_file_name() {
        let text = event(&Change::Created("/w/a\nb\r".into()), "/w");
        assert_eq!(text, "event: created\ndata: {\"path\":\"/w/a\\nb\\r\"}\n\n");
        assert_eq!(event(&Change::Overflow, "/w"), "event: overflow\ndata: {\"path\":\"/w\"}\n\n");
    }
}

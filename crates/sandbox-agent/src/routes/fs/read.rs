//! `GET` and `HEAD /v1/fs/file`: a file's bytes, one chunk in memory at a time.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_server::{Code, Problem};
use sandbox_fs::{FileReader, Length, RangeReader};
use tokio::task::JoinHandle;

use super::conditions::{self, Verdict, Version};
#[cfg(test)]
use super::document::{Bytes as FileBytes, Reading};
use super::metrics::FileMetrics;
use super::problem::to_problem;
use super::range::Wanted;
use super::{Files, attachment, range, required_path, shown};
use crate::routes::blocking::blocking;

/// Sends a file
///
/// The whole, or the part that was asked for. Several parts that do not touch are answered with the whole.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/fs/file",
    operation_id = "readFile",
    tag = "files",
    params(
        ("path" = String, Query, example = "notes.txt", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace."),
        ("If-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or the versions of which it must be one."),
        ("If-None-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or the versions that the client has."),
        ("If-Modified-Since" = Option<String>, Header, nullable = false, description = "The date of the version that the client has."),
        ("Range" = Option<String>, Header, nullable = false, description = "The part to send, as `bytes=0-99`."),
        ("If-Range" = Option<String>, Header, nullable = false, description = "Send the part only of this version, else the whole."),
    ),
    responses(
        (status = 200, description = "The file.", content_type = "application/octet-stream", body = inline(FileBytes), headers(
            ("ETag" = String, description = "The version."),
            ("Last-Modified" = String, description = "The date of the version."),
            ("Accept-Ranges" = String, description = "`bytes`, or `none` where the system makes up the content."),
            ("Content-Disposition" = String, description = "Always an attachment."),
        )),
        (status = 206, description = "The part.", content_type = "application/octet-stream", body = inline(FileBytes), headers(
            ("ETag" = String, description = "The version."),
            ("Last-Modified" = String, description = "The date of the version."),
            ("Accept-Ranges" = String, description = "`bytes`, or `none` where the system makes up the content."),
            ("Content-Disposition" = String, description = "Always an attachment."),
            ("Content-Range" = String, description = "Which part it is, as `bytes 0-99/1234`."),
        )),
        (status = 304, description = "The client has it."),
        Reading
    )
))]
pub(super) async fn read(State(files): State<Files>, request: Request) -> Result<Response, Problem> {
    let path = required_path(request.uri())?;
    let service = files.service.clone();
    let file = blocking(move || service.open_file(&path)).await?.map_err(to_problem)?;
    match file.length() {
        Length::Known(size) => send_known(&files, request.method(), request.headers(), file, size),
        Length::Unknown => {
            // Made up by the system while it is read: its size and times say nothing about its version.
            let mut response = Response::new(Body::empty());
            attachment::mark(response.headers_mut(), "application/octet-stream", &name(file.path()));
            response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
            if request.method() != Method::HEAD {
                *response.body_mut() = stream_of(file.whole(), files.metrics);
            }
            Ok(response)
        }
    }
}

/// Describes a file without sending it
///
/// The headers of a GET.
#[cfg_attr(test, utoipa::path(
    head,
    path = "/v1/fs/file",
    operation_id = "headFile",
    tag = "files",
    params(
        ("path" = String, Query, example = "notes.txt", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace."),
        ("If-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or the versions of which it must be one."),
        ("If-None-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or the versions that the client has."),
        ("If-Modified-Since" = Option<String>, Header, nullable = false, description = "The date of the version that the client has."),
    ),
    responses(
        (status = 200, description = "It is there.", headers(
            ("ETag" = String, description = "The version."),
            ("Last-Modified" = String, description = "The date of the version."),
            ("Accept-Ranges" = String, description = "`bytes`, or `none` where the system makes up the content."),
            ("Content-Disposition" = String, description = "Always an attachment."),
        )),
        (status = 304, description = "The client has it."),
        Reading
    )
))]
pub(super) async fn head(files: State<Files>, request: Request) -> Result<Response, Problem> {
    read(files, request).await
}

fn send_known(
    files: &Files,
    method: &Method,
    asked: &HeaderMap,
    file: FileReader,
    size: u64,
) -> Result<Response, Problem> {
    let etag = file.metadata().etag.clone();
    let modified = file.metadata().modified.to_system_time();
    let version = Version { etag: &etag, modified };
    let verdict = conditions::for_reading(asked, &version)?;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    attachment::mark(headers, "application/octet-stream", &name(file.path()));
    headers.insert(header::ETAG, text(etag.to_string())?);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(date) = modified.filter(|time| *time >= SystemTime::UNIX_EPOCH) {
        headers.insert(header::LAST_MODIFIED, text(httpdate::fmt_http_date(date))?);
    }
    if verdict == Verdict::NotModified {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    // Only GET knows ranges.
    let wanted = if method == Method::GET && conditions::allows_range(asked, &version) {
        range::of(asked, size)
    } else {
        Wanted::Whole
    };
    let reader = match wanted {
        Wanted::Whole => {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
            file.whole()
        }
        Wanted::Part(part) => {
            let (first, last) = (part.start, part.end - 1);
            headers.insert(header::CONTENT_RANGE, text(format!("bytes {first}-{last}/{size}"))?);
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            file.range(part)
        }
        Wanted::Unsatisfiable => return Err(unsatisfiable(file.path(), size)),
    };
    if method != Method::HEAD {
        *response.body_mut() = stream_of(reader, Arc::clone(&files.metrics));
    }
    Ok(response)
}

/// Reads ahead by one chunk: the next is read while the connection takes this one, and no thread waits for it.
fn stream_of(reader: RangeReader, metrics: Arc<FileMetrics>) -> Body {
    Body::from_stream(stream::try_unfold((fetch(reader), metrics), |(fetched, metrics)| async move {
        let (reader, chunk) = fetched.await.map_err(io::Error::other)?;
        // The connection is cut, so that the client does not take a part for the whole.
        let chunk = chunk.inspect_err(|error| tracing::warn!(%error, "a download broke off"))?;
        Ok::<_, io::Error>(chunk.map(|chunk| {
            metrics.read.add(chunk.len() as u64);
            (Bytes::from(chunk), (fetch(reader), metrics))
        }))
    }))
}

type Fetched = (RangeReader, io::Result<Option<Vec<u8>>>);

fn fetch(mut reader: RangeReader) -> JoinHandle<Fetched> {
    tokio::task::spawn_blocking(move || {
        let chunk = reader.next_chunk();
        (reader, chunk)
    })
}

fn unsatisfiable(path: &Path, size: u64) -> Problem {
    let detail = format!("{} has {size} bytes; ask for a range inside it", shown(path));
    let problem =
        Problem::new(Code::RangeNotSatisfiable, detail).with("path", shown(path)).with("size", size);
    match HeaderValue::try_from(format!("bytes */{size}")) {
        Ok(value) => problem.header(header::CONTENT_RANGE, value),
        Err(_) => problem,
    }
}

fn name(path: &Path) -> String {
    attachment::name_of(path)
}

/// Digits, letters and punctuation of our own making; should it not be a header value, that is our mistake.
fn text(value: String) -> Result<HeaderValue, Problem> {
    HeaderValue::try_from(value)
        .map_err(|error| Problem::new(Code::Internal, format!("a header cannot be written: {error}")))
}

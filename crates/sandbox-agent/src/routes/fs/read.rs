//! `GET` and `HEAD /v1/fs/file`: the content of a file, streamed in chunks.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use event_log::{MemoryAccount, charged};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_server::{ChargedBody, Code, Problem};
use sandbox_fs::{FileReader, Length, RangeReader};
use tokio::task::JoinHandle;

use super::conditions::{self, ReadDecision, Version};
#[cfg(test)]
use super::document::{Bytes as FileBytes, Reading};
use super::problem::to_problem;
use super::range::RequestedRange;
use super::{Files, attachment, path_text, range, required_path};
use crate::routes::blocking::blocking;

/// Sends a file
///
/// The whole file, or the requested range. Several separate ranges are answered with the whole file.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/fs/file",
    operation_id = "readFile",
    tag = "files",
    params(
        ("path" = String, Query, example = "notes.txt", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace."),
        ("If-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or a list of versions. Fails unless the file has one of them."),
        ("If-None-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or the versions that the client has."),
        ("If-Modified-Since" = Option<String>, Header, nullable = false, description = "The date of the version that the client has."),
        ("Range" = Option<String>, Header, nullable = false, description = "The range to send, as `bytes=0-99`."),
        ("If-Range" = Option<String>, Header, nullable = false, description = "Send the range only if the file has this version, else the whole file."),
    ),
    responses(
        (status = 200, description = "The file.", content_type = "application/octet-stream", body = inline(FileBytes), headers(
            ("ETag" = String, description = "The version of the file."),
            ("Last-Modified" = String, description = "When the file last changed."),
            ("Accept-Ranges" = String, description = "`bytes`, or `none` if the system generates the content while it is read."),
            ("Content-Disposition" = String, description = "Always an attachment."),
        )),
        (status = 206, description = "The range.", content_type = "application/octet-stream", body = inline(FileBytes), headers(
            ("ETag" = String, description = "The version of the file."),
            ("Last-Modified" = String, description = "When the file last changed."),
            ("Accept-Ranges" = String, description = "`bytes`, or `none` if the system generates the content while it is read."),
            ("Content-Disposition" = String, description = "Always an attachment."),
            ("Content-Range" = String, description = "The position of the range, as `bytes 0-99/1234`."),
        )),
        (status = 304, description = "The client already has this version."),
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
            // The system generates the content while it is read, so size and times do not identify a version.
            let mut response = Response::new(Body::empty());
            attachment::set_headers(response.headers_mut(), "application/octet-stream", &name(file.path()));
            response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
            if request.method() != Method::HEAD {
                set_body(&mut response, file.whole(), &files);
            }
            Ok(response)
        }
    }
}

/// Describes a file without sending it
///
/// Returns the headers of a GET.
#[cfg_attr(test, utoipa::path(
    head,
    path = "/v1/fs/file",
    operation_id = "headFile",
    tag = "files",
    params(
        ("path" = String, Query, example = "notes.txt", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace."),
        ("If-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or a list of versions. Fails unless the file has one of them."),
        ("If-None-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or the versions that the client has."),
        ("If-Modified-Since" = Option<String>, Header, nullable = false, description = "The date of the version that the client has."),
    ),
    responses(
        (status = 200, description = "The file exists.", headers(
            ("ETag" = String, description = "The version of the file."),
            ("Last-Modified" = String, description = "When the file last changed."),
            ("Accept-Ranges" = String, description = "`bytes`, or `none` if the system generates the content while it is read."),
            ("Content-Disposition" = String, description = "Always an attachment."),
        )),
        (status = 304, description = "The client already has this version."),
        Reading
    )
))]
pub(super) async fn head(files: State<Files>, request: Request) -> Result<Response, Problem> {
    read(files, request).await
}

fn send_known(
    files: &Files,
    method: &Method,
    request_headers: &HeaderMap,
    file: FileReader,
    size: u64,
) -> Result<Response, Problem> {
    let etag = file.metadata().etag.clone();
    let modified = file.metadata().modified.to_system_time();
    let version = Version { etag: &etag, modified };
    let decision = conditions::evaluate_read(request_headers, &version)?;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    attachment::set_headers(headers, "application/octet-stream", &name(file.path()));
    headers.insert(header::ETAG, text(etag.to_string())?);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(date) = modified.filter(|time| *time >= SystemTime::UNIX_EPOCH) {
        headers.insert(header::LAST_MODIFIED, text(httpdate::fmt_http_date(date))?);
    }
    if decision == ReadDecision::NotModified {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    // Ranges apply only to GET.
    let requested = if method == Method::GET && conditions::allows_range(request_headers, &version) {
        range::of(request_headers, size)
    } else {
        RequestedRange::Whole
    };
    let reader = match requested {
        RequestedRange::Whole => {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
            file.whole()
        }
        RequestedRange::Part(part) => {
            let (first, last) = (part.start, part.end - 1);
            headers.insert(header::CONTENT_RANGE, text(format!("bytes {first}-{last}/{size}"))?);
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            file.range(part)
        }
        RequestedRange::Unsatisfiable => return Err(unsatisfiable(file.path(), size)),
    };
    if method != Method::HEAD {
        set_body(&mut response, reader, files);
    }
    Ok(response)
}

/// Reads one chunk ahead: the next chunk is read while the current one is sent. No thread waits for the connection.
fn set_body(response: &mut Response, reader: RangeReader, files: &Files) {
    let (metrics, memory) = (Arc::clone(&files.metrics), Arc::clone(&files.memory));
    let start = (fetch(reader, Arc::clone(&memory)), metrics, memory);
    let chunks = stream::try_unfold(start, |(fetched, metrics, memory)| async move {
        let (reader, chunk) = fetched.await.map_err(io::Error::other)?;
        // The error aborts the connection, so that the client does not mistake a part for the whole file.
        let chunk =
            chunk.inspect_err(|error| tracing::warn!(%error, "reading a file for a download failed"))?;
        Ok::<_, io::Error>(chunk.map(|chunk| {
            metrics.read.add(chunk.len() as u64);
            (chunk, (fetch(reader, Arc::clone(&memory)), metrics, memory))
        }))
    });
    *response.body_mut() = Body::from_stream(chunks);
    response.extensions_mut().insert(ChargedBody);
}

type Fetched = (RangeReader, io::Result<Option<Bytes>>);

fn fetch(mut reader: RangeReader, memory: Arc<MemoryAccount>) -> JoinHandle<Fetched> {
    let buffer = reader.buffer();
    tokio::task::spawn_blocking(move || {
        let chunk = reader.read_into(buffer);
        (reader, chunk.map(|chunk| chunk.map(|chunk| charged(Bytes::from(chunk), &memory))))
    })
}

fn unsatisfiable(path: &Path, size: u64) -> Problem {
    let detail = format!("{} has {size} bytes; request a range inside it", path_text(path));
    let problem =
        Problem::new(Code::RangeNotSatisfiable, detail).with("path", path_text(path)).with("size", size);
    match HeaderValue::try_from(format!("bytes */{size}")) {
        Ok(value) => problem.header(header::CONTENT_RANGE, value),
        Err(_) => problem,
    }
}

fn name(path: &Path) -> String {
    attachment::file_name(path)
}

/// The server builds these values from digits, letters and punctuation, so a failure is an internal error.
fn text(value: String) -> Result<HeaderValue, Problem> {
    HeaderValue::try_from(value)
        .map_err(|error| Problem::new(Code::Internal, format!("a header cannot be written: {error}")))
}

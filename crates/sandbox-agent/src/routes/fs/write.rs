//! `PUT /v1/fs/file`: stores the body as a file, completely or not at all.
//!
//! No thread waits for a slow client: bytes are collected as they arrive and passed to a blocking thread in batches.
//! The last batch and the commit are one step in a task of its own, so a complete body is stored even if its client
//! has disconnected.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};
use http_server::{Code, Problem};
use sandbox_fs::{AtomicWriter, Atomicity, UserPath, WriteOptions, WriteOutcome};
use serde::Serialize;

#[cfg(test)]
use super::document::{Bytes as FileBytes, Writing};
use super::problem::to_problem;
use super::{Files, conditions, path_text, required_path};
use crate::routes::blocking::{blocking, detached};
use crate::routes::upload::{self, Upload};

/// How much is collected before it is written. An upload holds two batches in memory: one is being written, one is
/// being received.
const BATCH_BYTES: usize = 1 << 20;

/// The result of a write.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct WrittenFile {
    /// The absolute path of the file.
    path: String,
    /// The size of the file.
    bytes_written: u64,
    /// `false` when the file could not be replaced in one step; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(nullable = false))]
    atomic: Option<bool>,
}

/// Writes a file
///
/// All or nothing: the old file stays until the new one is complete. Missing parents are created. A file that cannot be
/// replaced in one step is written in place, and the response has `atomic: false`.
#[cfg_attr(test, utoipa::path(
    put,
    path = "/v1/fs/file",
    operation_id = "writeFile",
    tag = "files",
    params(
        ("path" = String, Query, example = "notes.txt", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace."),
        ("If-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or a list of versions. Fails unless the old file has one of them."),
        ("If-None-Match" = Option<String>, Header, pattern = "^\\*$", nullable = false, description = "`*`: fails if the file exists."),
    ),
    request_body(content = inline(FileBytes), content_type = "application/octet-stream", description = "The content of the file. Any content type is accepted."),
    responses(
        (status = 200, description = "The file is written.", body = WrittenFile, headers(("ETag" = String, description = "The version of the file."))),
        Writing
    )
))]
pub(super) async fn write(State(files): State<Files>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let upload = Upload::new(body);
    let (path, options) = parse_request(&parts, &files)?;
    if let Some(limit) = options.max_bytes.filter(|limit| upload.declared_size() > *limit) {
        return Err(to_problem(sandbox_fs::Error::TooLarge { limit }));
    }
    let outcome = detached(store(files, path, options, upload)).await?;
    let written = WrittenFile {
        path: path_text(&outcome.path),
        bytes_written: outcome.bytes_written,
        atomic: (outcome.atomic == Atomicity::InPlace).then_some(false),
    };
    let mut response = Json(written).into_response();
    if let Ok(etag) = HeaderValue::try_from(outcome.etag.to_string()) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    Ok(response)
}

fn parse_request(parts: &Parts, files: &Files) -> Result<(UserPath, WriteOptions), Problem> {
    let path = required_path(&parts.uri)?;
    check_encoding(&parts.headers)?;
    if parts.headers.contains_key(header::CONTENT_RANGE) {
        // If the header were ignored, the part would replace the whole file.
        return Err(conditions::invalid_header(
            &header::CONTENT_RANGE,
            "partial writes are not supported; omit `Content-Range`",
        ));
    }
    let precondition = conditions::write_precondition(&parts.headers)?;
    Ok((path, WriteOptions { precondition, max_bytes: files.max_upload_bytes }))
}

/// Rejects an encoded body, which would be stored without being decoded.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => Err(Problem::new(
            Code::UnsupportedMediaType,
            "the body is stored without decoding; send it without `Content-Encoding`",
        )),
        _ => Ok(()),
    }
}

/// The result of writing one batch.
#[allow(clippy::large_enum_variant, reason = "one lives at a time, for the length of a call")]
enum Step {
    More(AtomicWriter),
    Done(WriteOutcome),
}

async fn store(
    files: Files,
    path: UserPath,
    options: WriteOptions,
    mut upload: Upload,
) -> Result<WriteOutcome, Problem> {
    let Files { service, metrics, .. } = files;
    // Check this before the body is read: a client that waits for `100 Continue` need not send a body that is rejected.
    let mut writer = blocking(move || service.begin_write(&path, &options)).await?.map_err(to_problem)?;
    let mut received = upload.next_batch(BATCH_BYTES).await;
    loop {
        let batch = match received {
            Ok(batch) => batch,
            Err(error) => {
                tracing::debug!(%error, "an upload was interrupted");
                // Removing the partial file can take a while.
                blocking(move || drop(writer)).await?;
                return Err(upload::incomplete());
            }
        };
        let complete = upload.has_ended();
        let step = async {
            let step = blocking(move || {
                for bytes in &batch {
                    writer.write_chunk(bytes)?;
                }
                if complete { writer.commit().map(Step::Done) } else { Ok(Step::More(writer)) }
            });
            step.await?.map_err(to_problem)
        };
        // The next batch is received while this one is written. If the write fails, the next batch is not awaited.
        let next = async { Ok(if complete { Ok(Vec::new()) } else { upload.next_batch(BATCH_BYTES).await }) };
        match tokio::try_join!(step, next)? {
            (Step::More(same), next) => (writer, received) = (same, next),
            (Step::Done(outcome), _) => {
                metrics.written.add(outcome.bytes_written);
                return Ok(outcome);
            }
        }
    }
}

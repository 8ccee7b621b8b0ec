//! `PUT /v1/fs/file`: a file from a body, all of it or nothing of it.
//!
//! No thread waits for a slow client: bytes are gathered as they come and handed to a blocking thread in batches. The
//! last batch and the commit are one step, in a task of its own, so a body that came whole is stored whether or not
//! its client still waits.

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
use super::{Files, conditions, required_path, shown};
use crate::routes::blocking::{blocking, detached};
use crate::routes::upload::{self, Upload};

/// How much is gathered before it is written. Two of these are in memory for an upload: one that is written, one that comes.
const BATCH_BYTES: usize = 1 << 20;

/// What was written.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = WrittenFile))]
#[serde(rename_all = "camelCase")]
struct Written {
    /// Where the file is.
    path: String,
    /// How much was written.
    bytes_written: u64,
    /// Only said when the file could not be replaced in one step.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(nullable = false))]
    atomic: Option<bool>,
}

/// Writes a file
///
/// All of it or nothing: the old file stays until the new one is complete. Parents are made. Where a file cannot be
/// replaced in one step, it is written in place and the answer says so.
#[cfg_attr(test, utoipa::path(
    put,
    path = "/v1/fs/file",
    operation_id = "writeFile",
    tag = "files",
    params(
        ("path" = String, Query, example = "notes.txt", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace."),
        ("If-Match" = Option<String>, Header, pattern = "^(\\*|(W/)?\"[^\"]*\"(, ?(W/)?\"[^\"]*\")*)$", nullable = false, description = "`*`, or the versions of which the old file must be one."),
        ("If-None-Match" = Option<String>, Header, pattern = "^\\*$", nullable = false, description = "`*`: there must be no old file."),
    ),
    request_body(content = inline(FileBytes), content_type = "application/octet-stream", description = "The bytes, of any content type."),
    responses(
        (status = 200, description = "It is written.", body = Written, headers(("ETag" = String, description = "The version."))),
        Writing
    )
))]
pub(super) async fn write(State(files): State<Files>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let upload = Upload::new(&parts.headers, body);
    let (path, options) = read_request(&parts, &files)?;
    if let Some(limit) = options.max_bytes.filter(|limit| upload.announced() > *limit) {
        return Err(to_problem(sandbox_fs::Error::TooLarge { limit }));
    }
    let outcome = detached(store(files, path, options, upload)).await?;
    let written = Written {
        path: shown(&outcome.path),
        bytes_written: outcome.bytes_written,
        atomic: (outcome.atomic == Atomicity::InPlace).then_some(false),
    };
    let mut response = Json(written).into_response();
    if let Ok(etag) = HeaderValue::try_from(outcome.etag.to_string()) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    Ok(response)
}

fn read_request(parts: &Parts, files: &Files) -> Result<(UserPath, WriteOptions), Problem> {
    let path = required_path(&parts.uri)?;
    refuse_encoding(&parts.headers)?;
    if parts.headers.contains_key(header::CONTENT_RANGE) {
        // Taken for a whole file, a part would replace it.
        return Err(conditions::unreadable(
            &header::CONTENT_RANGE,
            "a file is written whole; drop `Content-Range`",
        ));
    }
    let precondition = conditions::for_writing(&parts.headers)?;
    Ok((path, WriteOptions { precondition, max_bytes: files.max_upload_bytes }))
}

/// Refuses a body that is wrapped in a way that would be stored instead of being undone.
fn refuse_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => Err(Problem::new(
            Code::UnsupportedMediaType,
            "the body is stored as it comes; send it without `Content-Encoding`",
        )),
        _ => Ok(()),
    }
}

/// What a step of writing leads to.
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
    // Before the first byte is asked for: a client that waits for `100 Continue` need not send what is refused.
    let mut writer = blocking(move || service.begin_write(&path, &options)).await?.map_err(to_problem)?;
    let mut came = upload.next_batch(BATCH_BYTES).await;
    loop {
        let batch = match came {
            Ok(batch) => batch,
            Err(error) => {
                tracing::debug!(%error, "an upload was cut off");
                // Removing what came so far can take a while.
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
        // The next bytes come in while these are written; a failure to write does not wait for them.
        let next = async { Ok(if complete { Ok(Vec::new()) } else { upload.next_batch(BATCH_BYTES).await }) };
        match tokio::try_join!(step, next)? {
            (Step::More(same), next) => (writer, came) = (same, next),
            (Step::Done(outcome), _) => {
                metrics.written.add(outcome.bytes_written);
                return Ok(outcome);
            }
        }
    }
}

//! `GET /v1/fs/download-batch`: a directory as an archive, packed while it is sent.

use std::io::{self, Write};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Method, header};
use http_server::{Code, Problem, Query, negotiate, query};
use sandbox_fs::{ArchiveBuilder, ArchiveFormat};
use tokio::sync::mpsc::{self, error::TrySendError};

#[cfg(test)]
use super::document::{ArchiveName as Format, Bytes as FileBytes, Packing};
use super::metrics::FileMetrics;
use super::problem::to_problem;
use super::slots::Slot;
use super::{Files, attachment, path_or_workspace};
use crate::routes::blocking::blocking;

/// How many chunks of the archive are buffered between the packing thread and the connection.
const BUFFERED_CHUNKS: usize = 2;

/// The formats, with their media type and their name, which is also the file extension.
const FORMATS: [(ArchiveFormat, &str, &str); 3] = [
    (ArchiveFormat::Tar, "application/x-tar", "tar"),
    (ArchiveFormat::TarGzip, "application/gzip", "tar.gz"),
    (ArchiveFormat::TarZstd, "application/zstd", "tar.zst"),
];

/// Sends a directory as an archive
///
/// Packed while it is sent. The format comes from `format`, else from `Accept`; default: a plain tar.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/fs/download-batch",
    operation_id = "downloadBatch",
    tag = "files",
    params(
        ("path" = Option<String>, Query, example = "src", pattern = "^[^\\u0000]*$", description = "Absolute, or relative to the workspace. Default: the workspace."),
        ("format" = inline(Option<Format>), Query, description = "The archive format."),
    ),
    responses(
        (status = 200, description = "The archive.", content(
            (FileBytes = "application/x-tar"),
            (FileBytes = "application/gzip"),
            (FileBytes = "application/zstd")
        ), headers(("Content-Disposition" = String, description = "Always an attachment."))),
        Packing
    )
))]
pub(super) async fn pack(State(files): State<Files>, request: Request) -> Result<Response, Problem> {
    let parameters = Query::of(request.uri());
    let path = path_or_workspace(request.uri())?;
    let (format, media_type, extension) = choose_format(&parameters, request.headers())?;
    let service = files.service.clone();
    let builder = blocking(move || service.open_archive(&path)).await?.map_err(to_problem)?;
    let name = format!("{}.{extension}", attachment::file_name(builder.path()));
    let mut response = Response::new(Body::empty());
    attachment::set_headers(response.headers_mut(), media_type, &name);
    if request.method() != Method::HEAD {
        let slot = files.archives.take().await?;
        *response.body_mut() = archive_body(builder, format, slot, files.metrics);
    }
    Ok(response)
}

fn choose_format(
    parameters: &Query<'_>,
    headers: &HeaderMap,
) -> Result<(ArchiveFormat, &'static str, &'static str), Problem> {
    if let Some(wanted) = parameters.one("format")? {
        let wanted = if wanted == "tgz" { "tar.gz" } else { wanted };
        return FORMATS.into_iter().find(|(_, _, name)| *name == wanted).ok_or_else(|| {
            query::invalid("format", format!("`format` must be tar, tar.gz or tar.zst, not `{wanted}`"))
        });
    }
    // A media type that `Accept` names explicitly is preferred over one that only matches `*/*`.
    let named = |media_type: &str| {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|range| {
            range.split(';').next().is_some_and(|range| range.trim().eq_ignore_ascii_case(media_type))
        })
    };
    let accepted =
        || FORMATS.into_iter().filter(|(_, media_type, _)| negotiate::accepts(headers, media_type));
    accepted().find(|(_, media_type, _)| named(media_type)).or_else(|| accepted().next()).ok_or_else(|| {
        Problem::new(
            Code::NotAcceptable,
            "this endpoint sends application/x-tar, application/gzip or application/zstd; accept one of them",
        )
    })
}

fn archive_body(
    builder: ArchiveBuilder,
    format: ArchiveFormat,
    slot: Slot,
    metrics: Arc<FileMetrics>,
) -> Body {
    let (sender, chunks) = mpsc::channel(BUFFERED_CHUNKS);
    tokio::task::spawn_blocking(move || {
        let path = builder.path().display().to_string();
        match builder.write_to(format, ChunkWriter { chunks: sender.clone(), slot }) {
            Ok(_) => {}
            Err(sandbox_fs::Error::OutputFailed { .. }) => {
                tracing::debug!(path, "the client closed a download");
            }
            Err(error) => {
                tracing::warn!(path, %error, "packing an archive failed");
                // The error aborts the connection, so that the client does not mistake a part for the whole archive.
                let _ = sender.blocking_send(Err(io::Error::other(error)));
            }
        }
    });
    Body::from_stream(stream::unfold((chunks, metrics), |(mut chunks, metrics)| async move {
        let chunk = chunks.recv().await?;
        metrics.packed.add(chunk.as_ref().map_or(0, |chunk| chunk.len() as u64));
        Some((chunk, (chunks, metrics)))
    }))
}

/// Where the packing thread writes the archive.
struct ChunkWriter {
    chunks: mpsc::Sender<io::Result<Bytes>>,
    slot: Slot,
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = match self.chunks.try_send(Ok(Bytes::copy_from_slice(bytes))) {
            Err(TrySendError::Full(chunk)) => {
                let chunks = &self.chunks;
                self.slot.wait(|| chunks.blocking_send(chunk)).is_ok()
            }
            sent => sent.is_ok(),
        };
        if sent { Ok(bytes.len()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

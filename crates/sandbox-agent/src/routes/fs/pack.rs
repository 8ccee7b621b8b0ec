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
use tokio::sync::{OwnedSemaphorePermit, mpsc};

#[cfg(test)]
use super::document::{ArchiveName as Format, Bytes as FileBytes, Packing};
use super::metrics::FileMetrics;
use super::problem::to_problem;
use super::{Files, attachment, path_or_workspace};
use crate::routes::blocking::blocking;

/// Pieces of the archive between the thread that packs and the connection.
const PIECES_AHEAD: usize = 2;

/// What the archives are called: in `format`, in `Accept`, and at the end of a file's name.
const KINDS: [(ArchiveFormat, &str, &str); 3] = [
    (ArchiveFormat::Tar, "application/x-tar", "tar"),
    (ArchiveFormat::TarGzip, "application/gzip", "tar.gz"),
    (ArchiveFormat::TarZstd, "application/zstd", "tar.zst"),
];

/// Sends a directory as an archive
///
/// Packed while it is sent. `format` decides, else `Accept`, else it is a plain tar.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/fs/download-batch",
    operation_id = "downloadBatch",
    tag = "files",
    params(
        ("path" = Option<String>, Query, example = "src", pattern = "^[^\\u0000]*$", description = "Absolute, or relative to the workspace, which it is when left out."),
        ("format" = inline(Option<Format>), Query, description = "How to pack it."),
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
    let (format, media_type, ending) = kind_of(&parameters, request.headers())?;
    let service = files.service.clone();
    let builder = blocking(move || service.open_archive(&path)).await?.map_err(to_problem)?;
    let name = format!("{}.{ending}", attachment::name_of(builder.path()));
    let mut response = Response::new(Body::empty());
    attachment::mark(response.headers_mut(), media_type, &name);
    if request.method() != Method::HEAD {
        // Never closed, so this only ever waits.
        let turn = files.archives.acquire_owned().await.ok();
        *response.body_mut() = stream_of(builder, format, turn, files.metrics);
    }
    Ok(response)
}

fn kind_of(
    parameters: &Query<'_>,
    headers: &HeaderMap,
) -> Result<(ArchiveFormat, &'static str, &'static str), Problem> {
    if let Some(wanted) = parameters.one("format")? {
        let wanted = if wanted == "tgz" { "tar.gz" } else { wanted };
        return KINDS.into_iter().find(|(_, _, name)| *name == wanted).ok_or_else(|| {
            query::invalid("format", format!("`format` is tar, tar.gz or tar.zst, not `{wanted}`"))
        });
    }
    // A kind that is named is wanted more than one that `*/*` lets pass.
    let named = |media_type: &str| {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|range| {
            range.split(';').next().is_some_and(|range| range.trim().eq_ignore_ascii_case(media_type))
        })
    };
    let accepted = || KINDS.into_iter().filter(|(_, media_type, _)| negotiate::accepts(headers, media_type));
    accepted().find(|(_, media_type, _)| named(media_type)).or_else(|| accepted().next()).ok_or_else(|| {
        Problem::new(
            Code::NotAcceptable,
            "this endpoint sends application/x-tar, application/gzip or application/zstd; accept one of them",
        )
    })
}

fn stream_of(
    builder: ArchiveBuilder,
    format: ArchiveFormat,
    turn: Option<OwnedSemaphorePermit>,
    metrics: Arc<FileMetrics>,
) -> Body {
    let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let shown = builder.path().display().to_string();
        match builder.write_to(format, PieceWriter(sender.clone())) {
            Ok(_) => {}
            Err(sandbox_fs::Error::OutputFailed { .. }) => tracing::debug!(path = shown, "a reader has gone"),
            Err(error) => {
                tracing::warn!(path = shown, %error, "an archive broke off");
                // The connection is cut, so that the client does not take a part for the whole.
                let _ = sender.blocking_send(Err(io::Error::other(error)));
            }
        }
    });
    Body::from_stream(stream::unfold((pieces, metrics), |(mut pieces, metrics)| async move {
        let piece = pieces.recv().await?;
        metrics.packed.add(piece.as_ref().map_or(0, |piece| piece.len() as u64));
        Some((piece, (pieces, metrics)))
    }))
}

/// The archive as the thread that packs writes it.
struct PieceWriter(mpsc::Sender<io::Result<Bytes>>);

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(Ok(piece)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

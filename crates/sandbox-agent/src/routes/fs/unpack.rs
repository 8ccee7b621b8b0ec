//! `POST /v1/fs/upload-batch`: an archive, unpacked whole or not at all.

use std::io::{self, Read};

use axum::Json;
use axum::extract::{Request, State};
use bytes::{Buf, Bytes};
use http::{HeaderMap, header};
use http_server::{Code, Problem, negotiate};
use sandbox_fs::{ArchiveFormat, ArchiveLimits, Extracted, UserPath};
use serde::Serialize;
use tokio::sync::mpsc;

#[cfg(test)]
use super::document::{Bytes as FileBytes, Unpacking};
use super::problem::to_problem;
use super::{Files, path_or_workspace, shown};
use crate::routes::blocking::{detached, interrupted};
use crate::routes::upload::Upload;

/// Pieces of the body between the connection and the thread that unpacks.
const PIECES_AHEAD: usize = 2;

/// What was unpacked.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = UnpackedArchive))]
pub(super) struct Unpacked {
    /// The first 1024 of them.
    paths: Vec<String>,
    /// Whether there are more.
    truncated: bool,
    /// How many there are.
    count: u64,
}

/// Unpacks an archive into a directory
///
/// A tar, plain or packed with gzip or zstd. It is checked whole before anything becomes visible, and one bad entry
/// refuses all of it. What is there and not in the archive stays.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/fs/upload-batch",
    operation_id = "uploadBatch",
    tag = "files",
    params(
        ("path" = Option<String>, Query, example = "src", pattern = "^[^\\u0000]*$", description = "Absolute, or relative to the workspace, which it is when left out."),
        ("Content-Encoding" = Option<String>, Header, pattern = "^(identity|gzip|x-gzip|zstd)$", nullable = false, description = "`gzip` or `zstd` around a plain tar."),
    ),
    request_body(description = "The archive.", content(
        (FileBytes = "application/x-tar"),
        (FileBytes = "application/gzip"),
        (FileBytes = "application/zstd")
    )),
    responses((status = 200, description = "It is unpacked.", body = Unpacked), Unpacking)
))]
pub(super) async fn unpack(State(files): State<Files>, request: Request) -> Result<Json<Unpacked>, Problem> {
    let (parts, body) = request.into_parts();
    let upload = Upload::new(&parts.headers, body);
    let path = path_or_workspace(&parts.uri)?;
    let format = format_of(&parts.headers)?;
    let Extracted { paths, truncated, count, .. } = detached(extract(files, path, format, upload)).await?;
    let paths = paths.iter().map(|path| shown(path)).collect();
    Ok(Json(Unpacked { paths, truncated, count }))
}

async fn extract(
    files: Files,
    path: UserPath,
    format: ArchiveFormat,
    mut upload: Upload,
) -> Result<Extracted, Problem> {
    // Never closed, so this only ever waits.
    let turn = files.archives.acquire_owned().await.ok();
    let limits = ArchiveLimits { max_bytes: files.max_upload_bytes, max_entries: files.max_upload_entries };
    let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
    let metrics = std::sync::Arc::clone(&files.metrics);
    let extraction = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        files.service.extract_archive(&path, format, limits, PieceReader::new(pieces))
    });
    let bytes = feed(&mut upload, sender).await;
    let extracted = extraction.await.map_err(|error| interrupted(&error))?.map_err(to_problem)?;
    metrics.unpacked.add(bytes);
    Ok(extracted)
}

/// What the connection hands to the thread that unpacks. The end is said, so that a connection that is just gone (the
/// server stops) is never taken for it.
#[derive(Debug)]
enum Piece {
    Data(Bytes),
    End,
    Failed(io::Error),
}

/// Hands the body over until it ends or nobody wants the rest. Returns how many bytes it had.
async fn feed(upload: &mut Upload, sender: mpsc::Sender<Piece>) -> u64 {
    let mut count = 0;
    loop {
        let next = tokio::select! {
            next = upload.next() => next,
            () = sender.closed() => return count,
        };
        let piece = match next {
            Ok(Some(bytes)) => {
                count += bytes.len() as u64;
                Piece::Data(bytes)
            }
            Ok(None) => Piece::End,
            Err(error) => Piece::Failed(error),
        };
        let is_last = !matches!(piece, Piece::Data(_));
        if sender.send(piece).await.is_err() || is_last {
            return count;
        }
    }
}

/// The body as the thread that unpacks reads it.
struct PieceReader {
    pieces: mpsc::Receiver<Piece>,
    current: Bytes,
    has_ended: bool,
}

impl PieceReader {
    fn new(pieces: mpsc::Receiver<Piece>) -> Self {
        Self { pieces, current: Bytes::new(), has_ended: false }
    }
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.has_ended {
            match self.pieces.blocking_recv() {
                Some(Piece::Data(bytes)) => self.current = bytes,
                Some(Piece::End) => self.has_ended = true,
                Some(Piece::Failed(error)) => return Err(error),
                None => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
        let count = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

/// How the body is packed, by its content type; a plain tar may be compressed for the way, too.
fn format_of(headers: &HeaderMap) -> Result<ArchiveFormat, Problem> {
    let refuse = |what: String| {
        let detail = format!("{what}; send application/x-tar, application/gzip or application/zstd");
        Err(Problem::new(Code::UnsupportedMediaType, detail))
    };
    let Some(media_type) = negotiate::media_type(headers) else {
        return refuse("the archive has no content type".to_owned());
    };
    let packed = match media_type.as_str() {
        "application/x-tar" | "application/tar" | "application/x-gtar" | "application/x-ustar" => {
            ArchiveFormat::Tar
        }
        "application/gzip"
        | "application/x-gzip"
        | "application/x-tar+gzip"
        | "application/tar+gzip"
        | "application/x-gtar-compressed"
        | "application/x-compressed-tar"
        | "application/x-tgz" => ArchiveFormat::TarGzip,
        "application/zstd"
        | "application/x-zstd"
        | "application/x-tar+zstd"
        | "application/tar+zstd"
        | "application/x-zstd-compressed-tar" => ArchiveFormat::TarZstd,
        other => return refuse(format!("{other} is no archive that is unpacked here")),
    };
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    match (packed, encoding.as_deref()) {
        (packed, None | Some(b"identity")) => Ok(packed),
        (ArchiveFormat::Tar, Some(b"gzip" | b"x-gzip")) => Ok(ArchiveFormat::TarGzip),
        (ArchiveFormat::Tar, Some(b"zstd")) => Ok(ArchiveFormat::TarZstd),
        _ => refuse("this `Content-Encoding` is not undone here".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_an_end_that_is_said_is_an_end() {
        let read = |pieces: Vec<Piece>| {
            let (sender, receiver) = mpsc::channel(8);
            pieces.into_iter().for_each(|piece| sender.try_send(piece).unwrap());
            drop(sender);
            let mut text = String::new();
            PieceReader::new(receiver).read_to_string(&mut text).map(|_| text).map_err(|error| error.kind())
        };
        let data = |text: &'static str| Piece::Data(Bytes::from_static(text.as_bytes()));
        assert_eq!(read(vec![data("a"), data(""), data("bc"), Piece::End]), Ok("abc".to_owned()));
        assert_eq!(read(vec![data("a")]), Err(io::ErrorKind::ConnectionAborted));
        let failed = Piece::Failed(io::ErrorKind::TimedOut.into());
        assert_eq!(read(vec![data("a"), failed]), Err(io::ErrorKind::TimedOut));
    }

    #[test]
    fn the_content_type_says_how_an_archive_is_packed() {
        let format = |media_type: &'static str, encoding: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
            if let Some(encoding) = encoding {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
            }
            format_of(&headers).ok()
        };
        assert_eq!(format("application/x-tar", None), Some(ArchiveFormat::Tar));
        assert_eq!(format("application/X-Tar; x=y", Some("gzip")), Some(ArchiveFormat::TarGzip));
        assert_eq!(format("application/x-gzip", None), Some(ArchiveFormat::TarGzip));
        assert_eq!(format("application/zstd", Some("identity")), Some(ArchiveFormat::TarZstd));
        assert_eq!(format("application/zip", None), None);
        assert_eq!(format("application/gzip", Some("gzip")), None);
        assert!(format_of(&HeaderMap::new()).is_err());
    }
}

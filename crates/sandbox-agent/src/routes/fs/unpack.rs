//! `POST /v1/fs/upload-batch`: unpacks an archive, completely or not at all.

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
use super::slots::Slot;
use super::{Files, path_or_workspace, path_text};
use crate::routes::blocking::{detached, interrupted};
use crate::routes::upload::Upload;

/// How many parts of the body are buffered between the connection and the unpacking thread.
const BUFFERED_PARTS: usize = 2;

/// The result of unpacking an archive.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct UnpackedArchive {
    /// The paths of the first 1024 entries.
    paths: Vec<String>,
    /// True when there are more entries.
    truncated: bool,
    /// The number of entries.
    count: u64,
}

/// Unpacks an archive into a directory
///
/// The archive is a tar, plain or compressed with gzip or zstd. The whole archive is checked before anything
/// becomes visible, and one invalid entry rejects all of it. Existing files that are not in the archive are kept.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/fs/upload-batch",
    operation_id = "uploadBatch",
    tag = "files",
    params(
        ("path" = Option<String>, Query, example = "src", pattern = "^[^\\u0000]*$", description = "Absolute, or relative to the workspace. Default: the workspace."),
        ("Content-Encoding" = Option<String>, Header, pattern = "^(identity|gzip|x-gzip|zstd)$", nullable = false, description = "`gzip` or `zstd`, if the body is a compressed plain tar."),
    ),
    request_body(description = "The archive.", content(
        (FileBytes = "application/x-tar"),
        (FileBytes = "application/gzip"),
        (FileBytes = "application/zstd")
    )),
    responses((status = 200, description = "The archive is unpacked.", body = UnpackedArchive), Unpacking)
))]
pub(super) async fn unpack(
    State(files): State<Files>,
    request: Request,
) -> Result<Json<UnpackedArchive>, Problem> {
    let (parts, body) = request.into_parts();
    let upload = Upload::new(body);
    let path = path_or_workspace(&parts.uri)?;
    let format = format_of(&parts.headers)?;
    let Extracted { paths, truncated, count, .. } = detached(extract(files, path, format, upload)).await?;
    let paths = paths.iter().map(|path| path_text(path)).collect();
    Ok(Json(UnpackedArchive { paths, truncated, count }))
}

async fn extract(
    files: Files,
    path: UserPath,
    format: ArchiveFormat,
    mut upload: Upload,
) -> Result<Extracted, Problem> {
    let slot = files.archives.take().await?;
    let limits = ArchiveLimits { max_bytes: files.max_upload_bytes, max_entries: files.max_upload_entries };
    let (sender, parts) = mpsc::channel(BUFFERED_PARTS);
    let metrics = std::sync::Arc::clone(&files.metrics);
    let extraction = tokio::task::spawn_blocking(move || {
        files.service.extract_archive(&path, format, limits, BodyReader::new(parts).in_slot(slot))
    });
    let bytes = forward(&mut upload, sender).await;
    let extracted = extraction.await.map_err(|error| interrupted(&error))?.map_err(to_problem)?;
    metrics.unpacked.add(bytes);
    Ok(extracted)
}

/// What the connection sends to the unpacking thread. The end of the body is explicit, so that a dropped sender (when
/// the server stops) is not mistaken for it.
#[derive(Debug)]
enum BodyPart {
    Data(Bytes),
    End,
    Failed(io::Error),
}

/// Forwards the body to the unpacking thread until the body or the thread ends. Returns the number of bytes.
async fn forward(upload: &mut Upload, sender: mpsc::Sender<BodyPart>) -> u64 {
    let mut count = 0;
    loop {
        let next = tokio::select! {
            next = upload.next() => next,
            () = sender.closed() => return count,
        };
        let part = match next {
            Ok(Some(bytes)) => {
                count += bytes.len() as u64;
                BodyPart::Data(bytes)
            }
            Ok(None) => BodyPart::End,
            Err(error) => BodyPart::Failed(error),
        };
        let is_last = !matches!(part, BodyPart::Data(_));
        if sender.send(part).await.is_err() || is_last {
            return count;
        }
    }
}

/// Reads the body on the unpacking thread.
struct BodyReader {
    parts: mpsc::Receiver<BodyPart>,
    current: Bytes,
    has_ended: bool,
    slot: Option<Slot>,
}

impl BodyReader {
    fn new(parts: mpsc::Receiver<BodyPart>) -> Self {
        Self { parts, current: Bytes::new(), has_ended: false, slot: None }
    }

    fn in_slot(mut self, slot: Slot) -> Self {
        self.slot = Some(slot);
        self
    }

    fn next(&mut self) -> Option<BodyPart> {
        let Self { parts, slot, .. } = self;
        match (parts.try_recv(), slot) {
            (Ok(part), _) => Some(part),
            (Err(_), Some(slot)) => slot.wait(|| parts.blocking_recv()),
            (Err(_), None) => parts.blocking_recv(),
        }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.has_ended {
            match self.next() {
                Some(BodyPart::Data(bytes)) => self.current = bytes,
                Some(BodyPart::End) => self.has_ended = true,
                Some(BodyPart::Failed(error)) => return Err(error),
                None => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
        let count = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

/// The format of the body, from its content type. A plain tar may also be compressed by `Content-Encoding`.
fn format_of(headers: &HeaderMap) -> Result<ArchiveFormat, Problem> {
    let unsupported = |what: String| {
        let detail = format!("{what}; send application/x-tar, application/gzip or application/zstd");
        Err(Problem::new(Code::UnsupportedMediaType, detail))
    };
    let Some(media_type) = negotiate::media_type(headers) else {
        return unsupported("the archive has no content type".to_owned());
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
        other => return unsupported(format!("{other} is not a supported archive type")),
    };
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    match (packed, encoding.as_deref()) {
        (packed, None | Some(b"identity")) => Ok(packed),
        (ArchiveFormat::Tar, Some(b"gzip" | b"x-gzip")) => Ok(ArchiveFormat::TarGzip),
        (ArchiveFormat::Tar, Some(b"zstd")) => Ok(ArchiveFormat::TarZstd),
        _ => unsupported("this `Content-Encoding` is not supported here".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_body_without_an_explicit_end_is_an_error() {
        let read = |parts: Vec<BodyPart>| {
            let (sender, receiver) = mpsc::channel(8);
            parts.into_iter().for_each(|part| sender.try_send(part).unwrap());
            drop(sender);
            let mut text = String::new();
            BodyReader::new(receiver).read_to_string(&mut text).map(|_| text).map_err(|error| error.kind())
        };
        let data = |text: &'static str| BodyPart::Data(Bytes::from_static(text.as_bytes()));
        assert_eq!(read(vec![data("a"), data(""), data("bc"), BodyPart::End]), Ok("abc".to_owned()));
        assert_eq!(read(vec![data("a")]), Err(io::ErrorKind::ConnectionAborted));
        let failed = BodyPart::Failed(io::ErrorKind::TimedOut.into());
        assert_eq!(read(vec![data("a"), failed]), Err(io::ErrorKind::TimedOut));
    }

    #[test]
    fn the_content_type_determines_the_archive_format() {
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

//! `fs upload` and `fs download`: whole directories, packed on one side and unpacked on the other.
//!
//! Both sides are the file service that the server has, so links, modes and names that no text can say survive, and
//! an archive that would leave its target is refused here as well.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytes::{Buf, Bytes};
use futures_util::stream;
use reqwest::Body;
use sandbox_fs::{ArchiveBuilder, ArchiveFormat, ArchiveLimits, UserPath};
use serde_json::json;
use tokio::sync::mpsc;

use super::transfer::here;
use super::{told, word};
use crate::cli::client::{Request, Server};
use crate::cli::error::CliError;
use crate::cli::output::Format;
use crate::cli::progress::Meter;

/// Pieces between the thread that packs and the connection.
const AHEAD: usize = 4;

/// How an archive travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Compressed,
}

impl Packing {
    pub(super) const fn of(compress: bool) -> Self {
        if compress { Self::Compressed } else { Self::Plain }
    }

    const fn format(self) -> ArchiveFormat {
        match self {
            Self::Plain => ArchiveFormat::Tar,
            Self::Compressed => ArchiveFormat::TarZstd,
        }
    }

    const fn media_type(self) -> &'static str {
        match self {
            Self::Plain => "application/x-tar",
            Self::Compressed => "application/zstd",
        }
    }
}

/// Packs a directory while it is sent.
pub(super) async fn upload(
    request: Request,
    directory: PathBuf,
    packing: Packing,
    format: Format,
) -> Result<(), CliError> {
    let builder = here()?.open_archive(&UserPath::parse(directory.as_os_str())?)?;
    let meter = Meter::new(&name_of(&directory), None);
    let (sender, pieces) = mpsc::channel(AHEAD);
    let packed = tokio::task::spawn_blocking(move || pack(builder, packing, &sender));
    let body = stream::unfold((pieces, meter), |(mut pieces, mut meter)| async move {
        let piece: io::Result<Bytes> = pieces.recv().await?;
        meter.add(piece.as_ref().map_or(0, Bytes::len));
        Some((piece, (pieces, meter)))
    });
    let sent = request.body(packing.media_type(), Body::wrap_stream(body)).json().await;
    // A directory that cannot be read is the reason, not the connection that was cut for it.
    packed.await.map_err(io::Error::other)??;
    let answer = sent?;
    told(&answer, format, || format!("uploaded {} entries", answer["count"]))
}

fn pack(
    builder: ArchiveBuilder,
    packing: Packing,
    sender: &mpsc::Sender<io::Result<Bytes>>,
) -> Result<(), CliError> {
    match builder.write_to(packing.format(), Pieces(sender.clone())) {
        Ok(_) => Ok(()),
        // Whoever was to take it has gone; that side tells why.
        Err(sandbox_fs::Error::OutputFailed { .. }) => Ok(()),
        Err(error) => {
            // Without this the other side would take a part for the whole.
            let _ = sender.blocking_send(Err(io::Error::other("the directory could not be read")));
            Err(error.into())
        }
    }
}

struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(Ok(piece)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Unpacks a directory while it comes; nothing of it stays if it does not come whole.
pub(super) async fn download(
    server: &Server,
    request: Request,
    directory: PathBuf,
    packing: Packing,
    format: Format,
) -> Result<(), CliError> {
    let mut response = request.accept(packing.media_type()).send().await?;
    let mut meter = Meter::new(&name_of(&directory), None);
    let service = here()?;
    let target = UserPath::parse(directory.as_os_str())?;
    let (sender, pieces) = mpsc::channel(AHEAD);
    let unpacked = tokio::task::spawn_blocking(move || {
        let source = Arriving { pieces, current: Bytes::new(), has_ended: false };
        service.extract_archive(&target, packing.format(), ArchiveLimits::default(), source)
    });
    let arrived = loop {
        let piece = match response.chunk().await {
            Ok(piece) => piece,
            Err(error) => break Err(server.failure(&error)),
        };
        meter.add(piece.as_ref().map_or(0, Bytes::len));
        let is_last = piece.is_none();
        // Nobody takes it when unpacking has failed, which tells why.
        if sender.send(piece).await.is_err() || is_last {
            break Ok(());
        }
    };
    drop(sender);
    let unpacked = unpacked.await.map_err(io::Error::other)?;
    arrived?;
    let unpacked = unpacked?;
    let answer = json!({"path": unpacked.target, "count": unpacked.count});
    told(&answer, format, || format!("downloaded {} entries to {}", unpacked.count, word(&answer, "path")))
}

/// An archive as the thread that unpacks reads it. Only an end that is said is an end: when the connection
/// breaks or this command is interrupted, the rest just stops coming, and nothing of it may stay.
struct Arriving {
    pieces: mpsc::Receiver<Option<Bytes>>,
    current: Bytes,
    has_ended: bool,
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.has_ended {
            match self.pieces.blocking_recv() {
                Some(Some(bytes)) => self.current = bytes,
                Some(None) => self.has_ended = true,
                None => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
        let count = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

fn name_of(directory: &Path) -> String {
    directory.file_name().unwrap_or(directory.as_os_str()).to_string_lossy().into_owned()
}

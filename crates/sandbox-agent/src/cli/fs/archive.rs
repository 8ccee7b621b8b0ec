//! `fs upload` and `fs download`: whole directories, packed on one side and unpacked on the other.
//!
//! Both sides use the server's file service, so links, modes and names that are not UTF-8 are preserved, and an archive
//! with entries outside its target is rejected here as well.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytes::{Buf, Bytes};
use futures_util::stream;
use reqwest::Body;
use sandbox_fs::{ArchiveBuilder, ArchiveFormat, ArchiveLimits, UserPath};
use serde_json::json;
use tokio::sync::mpsc;

use super::transfer::local_files;
use super::{print_result, text_field};
use crate::cli::client::{Request, Server};
use crate::cli::error::CliError;
use crate::cli::output::Format;
use crate::cli::progress::Meter;

/// How many chunks are buffered between the packing thread and the connection.
const BUFFERED_CHUNKS: usize = 4;

/// How an archive is transferred.
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
    let builder = local_files()?.open_archive(&UserPath::parse(directory.as_os_str())?)?;
    let meter = Meter::new(&display_name(&directory), None);
    let (sender, chunks) = mpsc::channel(BUFFERED_CHUNKS);
    let packed = tokio::task::spawn_blocking(move || pack(builder, packing, &sender));
    let body = stream::unfold((chunks, meter), |(mut chunks, mut meter)| async move {
        let chunk: io::Result<Bytes> = chunks.recv().await?;
        meter.add(chunk.as_ref().map_or(0, Bytes::len));
        Some((chunk, (chunks, meter)))
    });
    let sent = request.body(packing.media_type(), Body::wrap_stream(body)).json().await;
    // If the directory could not be read, report that, not the connection that was aborted because of it.
    packed.await.map_err(io::Error::other)??;
    let answer = sent?;
    print_result(&answer, format, || format!("uploaded {} entries", answer["count"]))
}

fn pack(
    builder: ArchiveBuilder,
    packing: Packing,
    sender: &mpsc::Sender<io::Result<Bytes>>,
) -> Result<(), CliError> {
    match builder.write_to(packing.format(), ChunkWriter(sender.clone())) {
        Ok(_) => Ok(()),
        // The request has failed; its error is reported instead.
        Err(sandbox_fs::Error::OutputFailed { .. }) => Ok(()),
        Err(error) => {
            // Aborts the request, so that the server does not mistake a part for the whole archive.
            let _ = sender.blocking_send(Err(io::Error::other("the directory could not be read")));
            Err(error.into())
        }
    }
}

struct ChunkWriter(mpsc::Sender<io::Result<Bytes>>);

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(Ok(chunk)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Unpacks a directory while it is received. Nothing is kept if the archive is incomplete.
pub(super) async fn download(
    server: &Server,
    request: Request,
    directory: PathBuf,
    packing: Packing,
    format: Format,
) -> Result<(), CliError> {
    let mut response = request.accept(packing.media_type()).send().await?;
    let mut meter = Meter::new(&display_name(&directory), None);
    let service = local_files()?;
    let target = UserPath::parse(directory.as_os_str())?;
    let (sender, chunks) = mpsc::channel(BUFFERED_CHUNKS);
    let unpacked = tokio::task::spawn_blocking(move || {
        let source = ChunkReader { chunks, current: Bytes::new(), has_ended: false };
        service.extract_archive(&target, packing.format(), ArchiveLimits::default(), source)
    });
    let received = loop {
        let chunk = match response.chunk().await {
            Ok(chunk) => chunk,
            Err(error) => break Err(server.failure(&error)),
        };
        meter.add(chunk.as_ref().map_or(0, Bytes::len));
        let is_last = chunk.is_none();
        // The channel is closed when unpacking has failed; its error is reported below.
        if sender.send(chunk).await.is_err() || is_last {
            break Ok(());
        }
    };
    drop(sender);
    let unpacked = unpacked.await.map_err(io::Error::other)?;
    received?;
    let unpacked = unpacked?;
    let answer = json!({"path": unpacked.target, "count": unpacked.count});
    print_result(&answer, format, || {
        format!("downloaded {} entries to {}", unpacked.count, text_field(&answer, "path"))
    })
}

/// Reads an archive on the unpacking thread. The end is an explicit `None`: if the connection breaks or this command is
/// interrupted, the channel just closes, and nothing of the archive may be kept.
struct ChunkReader {
    chunks: mpsc::Receiver<Option<Bytes>>,
    current: Bytes,
    has_ended: bool,
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.has_ended {
            match self.chunks.blocking_recv() {
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

fn display_name(directory: &Path) -> String {
    directory.file_name().unwrap_or(directory.as_os_str()).to_string_lossy().into_owned()
}

//! Decompresses an archive's bytes, and distinguishes the kinds of failures.
//!
//! A source that fails (the client is gone) is not a damaged archive, so the source's own errors are recorded
//! separately.

use std::cell::RefCell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use super::{ArchiveFormat, RejectReason};
use crate::error::{Error, Result};

const BUFFER_BYTES: usize = 256 * 1024;

/// The supported compressions of a tar stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Bzip2,
    Zstd,
}

impl From<ArchiveFormat> for Compression {
    fn from(format: ArchiveFormat) -> Self {
        match format {
            ArchiveFormat::Tar => Self::None,
            ArchiveFormat::TarGzip => Self::Gzip,
            ArchiveFormat::TarZstd => Self::Zstd,
        }
    }
}

/// A decompressed stream.
pub(super) struct Input<'a> {
    stream: Box<dyn Read + 'a>,
    compression: Compression,
    failed: Rc<RefCell<Option<io::Error>>>,
}

impl<'a> Input<'a> {
    pub(super) fn open(source: impl Read + 'a, compression: Compression) -> Result<Self> {
        let failed = Rc::new(RefCell::new(None));
        let watched = BufReader::with_capacity(BUFFER_BYTES, Watched { source, failed: Rc::clone(&failed) });
        let stream: Box<dyn Read + 'a> = match compression {
            Compression::None => Box::new(watched),
            // Consecutive gzip members are one stream, as for gzip itself.
            Compression::Gzip => Box::new(BufReader::with_capacity(
                BUFFER_BYTES,
                flate2::bufread::MultiGzDecoder::new(watched),
            )),
            Compression::Bzip2 => {
                Box::new(BufReader::with_capacity(BUFFER_BYTES, bzip2::bufread::MultiBzDecoder::new(watched)))
            }
            Compression::Zstd => match zstd::stream::read::Decoder::with_buffer(watched) {
                Ok(decoder) => Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)),
                Err(source) => return Err(Error::InputFailed { source }),
            },
        };
        Ok(Self { stream, compression, failed })
    }

    /// Fills the buffer completely, except at the end of the stream.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.stream.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.explain(&error)),
            }
        }
        Ok(filled)
    }

    fn explain(&self, error: &io::Error) -> Error {
        if let Some(source) = self.failed.borrow_mut().take() {
            return Error::InputFailed { source };
        }
        let truncated = error.kind() == io::ErrorKind::UnexpectedEof || self.compression == Compression::None;
        let reason = if truncated { RejectReason::Truncated } else { RejectReason::BadCompression };
        Error::ArchiveRejected { entry: None, reason }
    }
}

struct Watched<R> {
    source: R,
    failed: Rc<RefCell<Option<io::Error>>>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                *self.failed.borrow_mut() = Some(io::Error::new(error.kind(), error.to_string()));
            }
        })
    }
}

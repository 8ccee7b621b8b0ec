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

/// A decompressed stream.
pub(super) struct Input<'a> {
    stream: Box<dyn Read + 'a>,
    format: ArchiveFormat,
    failed: Rc<RefCell<Option<io::Error>>>,
}

impl<'a> Input<'a> {
    pub(super) fn open(source: impl Read + 'a, format: ArchiveFormat) -> Result<Self> {
        let failed = Rc::new(RefCell::new(None));
        let watched = BufReader::with_capacity(BUFFER_BYTES, Watched { source, failed: Rc::clone(&failed) });
        let stream: Box<dyn Read + 'a> = match format {
            ArchiveFormat::Tar => Box::new(watched),
            // Consecutive gzip members are one stream, as for gzip itself.
            ArchiveFormat::TarGzip => Box::new(BufReader::with_capacity(
                BUFFER_BYTES,
                flate2::bufread::MultiGzDecoder::new(watched),
            )),
            ArchiveFormat::TarZstd => match zstd::stream::read::Decoder::with_buffer(watched) {
                Ok(decoder) => Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)),
                Err(source) => return Err(Error::InputFailed { source }),
            },
        };
        Ok(Self { stream, format, failed })
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
        let truncated = error.kind() == io::ErrorKind::UnexpectedEof || self.format == ArchiveFormat::Tar;
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

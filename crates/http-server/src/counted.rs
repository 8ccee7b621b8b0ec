//! A connection whose bytes are counted: one addition per system call.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use metrics::Held;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::metrics::ServerMetrics;

/// Up to this size, head and body are copied together and sent with one `write`: that costs less than `writev`.
const SMALL: usize = 512;

/// A connection while it is open.
#[derive(Debug)]
pub(crate) struct Counted {
    stream: TcpStream,
    metrics: Arc<ServerMetrics>,
    _open: Held,
}

impl Counted {
    pub(crate) fn new(stream: TcpStream, metrics: &Arc<ServerMetrics>) -> Self {
        Self { stream, metrics: Arc::clone(metrics), _open: metrics.connected() }
    }

    fn wrote(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = result {
            self.metrics.bytes_out.add(count as u64);
        }
        result
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        let count = buffer.filled().len() - before;
        if count > 0 {
            self.metrics.bytes_in.add(count as u64);
        }
        result
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        if total > SMALL {
            let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
            return self.wrote(result);
        }
        let mut together = [0; SMALL];
        let mut rest = &mut together[..];
        for slice in slices {
            // The slices fit: their total was compared with `SMALL` above.
            let _ = io::Write::write(&mut rest, slice);
        }
        let result = Pin::new(&mut self.stream).poll_write(context, &together[..total]);
        self.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

//! A stream that counts its bytes: one addition per system call.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use metrics::GaugeGuard;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::metrics::ServerMetrics;

/// Up to this size, head and body are copied into one buffer and sent with one `write`, which costs less than `writev`.
const SMALL: usize = 512;

/// An open connection.
#[derive(Debug)]
pub(crate) struct CountedStream<S> {
    stream: S,
    metrics: Arc<ServerMetrics>,
    /// Counts this connection as open.
    _open: GaugeGuard,
}

impl<S> CountedStream<S> {
    pub(crate) fn new(stream: S, metrics: &Arc<ServerMetrics>) -> Self {
        Self { stream, metrics: Arc::clone(metrics), _open: metrics.connected() }
    }

    fn count_written(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = result {
            self.metrics.bytes_out.add(count as u64);
        }
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count_written(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        if total > SMALL {
            let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
            return self.count_written(result);
        }
        let mut joined = [0; SMALL];
        let mut rest = &mut joined[..];
        for slice in slices {
            // The slices fit: their total is at most `SMALL`.
            let _ = io::Write::write(&mut rest, slice);
        }
        let result = Pin::new(&mut self.stream).poll_write(context, &joined[..total]);
        self.count_written(result)
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

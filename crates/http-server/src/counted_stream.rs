//! A stream that counts its bytes: one addition per system call. It also limits unfinished heads, and records when
//! the client takes nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use metrics::GaugeGuard;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connections::Connection;
use crate::metrics::ServerMetrics;

/// Up to this size, head and body are copied into one buffer and sent with one `write`, which costs less than `writev`.
const SMALL: usize = 512;

/// An open connection.
#[derive(Debug)]
pub(crate) struct CountedStream<S> {
    stream: S,
    metrics: Arc<ServerMetrics>,
    connection: Arc<Connection>,
    /// How much of the head of the next request has arrived.
    head: usize,
    /// Counts this connection as open.
    _open: GaugeGuard,
}

impl<S> CountedStream<S> {
    pub(crate) fn new(stream: S, metrics: &Arc<ServerMetrics>, connection: Arc<Connection>) -> Self {
        Self { stream, metrics: Arc::clone(metrics), connection, head: 0, _open: metrics.connected() }
    }

    fn count_written(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match result {
            Poll::Ready(Ok(count)) => {
                self.metrics.bytes_out.add(count as u64);
                self.connection.moved();
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.connection.blocked(),
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
            let this = &mut *self;
            if !this.connection.received(count, &mut this.head) {
                let reason = "the unfinished requests of all clients take too much memory";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::OutOfMemory, reason)));
            }
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

//! A connection whose bytes are counted, one addition a system call.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use measures::Held;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::measures::EdgeMeasures;

/// What is shorter goes out in one piece: copying it costs less than the system's way of gathering the pieces.
const SMALL: usize = 512;

/// A connection while it is open.
#[derive(Debug)]
pub(crate) struct Counted {
    stream: TcpStream,
    /// What was read and given back, to be read again first.
    unread: Vec<u8>,
    measures: Arc<EdgeMeasures>,
    _open: Held,
}

impl Counted {
    pub(crate) fn new(stream: TcpStream, measures: &Arc<EdgeMeasures>) -> Self {
        Self { stream, unread: Vec::new(), measures: Arc::clone(measures), _open: measures.connected() }
    }

    /// Gives back what was read last.
    pub(crate) fn give_back(&mut self, read: Vec<u8>) {
        debug_assert!(self.unread.is_empty(), "only once");
        self.unread = read;
    }

    fn wrote(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = result {
            self.measures.bytes_out.add(count as u64);
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
        if !self.unread.is_empty() {
            let count = self.unread.len().min(buffer.remaining());
            buffer.put_slice(&self.unread[..count]);
            self.unread.drain(..count);
            if self.unread.is_empty() {
                self.unread = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        let count = buffer.filled().len() - before;
        if count > 0 {
            self.measures.bytes_in.add(count as u64);
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
            // They fit, as was just counted.
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

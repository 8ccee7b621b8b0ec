//! The bytes of responses that hyper holds until the client takes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;

use crate::connections::{Connection, Connections};

/// Pieces smaller than this are not worth counting: hyper holds few of them, and a connection is charged for some.
const SMALL: usize = 1 << 10;

/// Marks a response whose body is charged already, as one that shares the memory of a log is.
#[derive(Debug, Clone, Copy)]
pub struct ChargedBody;

/// Who charges the bytes of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charge {
    /// Its connection.
    Connection,
    /// Its source.
    Source,
}

/// Counts the bytes as held by the connection until they are dropped.
pub(crate) fn hold(
    bytes: Bytes,
    connection: &Arc<Connection>,
    charge: Charge,
    stream: Option<&Arc<StreamProgress>>,
) -> Bytes {
    if bytes.len() < SMALL {
        return bytes;
    }
    let length = bytes.len();
    connection.held.fetch_add(length, Ordering::Relaxed);
    if charge == Charge::Connection {
        connection.all.memory.charge(length);
    }
    if let Some(stream) = stream {
        stream.took(length);
    }
    Bytes::from_owner(Held { bytes, connection: Arc::clone(connection), charge, stream: stream.cloned() })
}

struct Held {
    bytes: Bytes,
    connection: Arc<Connection>,
    charge: Charge,
    stream: Option<Arc<StreamProgress>>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let length = self.bytes.len();
        self.connection.held.fetch_sub(length, Ordering::Relaxed);
        if self.charge == Charge::Connection {
            self.connection.all.memory.refund(length);
        }
        if let Some(stream) = &self.stream {
            stream.gave(length);
        }
    }
}

/// How far a response on HTTP/2 is.
#[derive(Debug)]
pub(crate) struct StreamProgress {
    all: Arc<Connections>,
    held: AtomicUsize,
    /// When the client last took something, or when there was something to take again.
    moved_at: AtomicU64,
}

impl StreamProgress {
    pub(crate) fn new(all: &Arc<Connections>) -> Arc<Self> {
        Arc::new(Self { all: Arc::clone(all), held: AtomicUsize::new(0), moved_at: AtomicU64::new(0) })
    }

    fn took(&self, bytes: usize) {
        if self.held.fetch_add(bytes, Ordering::Relaxed) == 0 {
            self.moved_at.store(self.all.now(), Ordering::Relaxed);
        }
    }

    fn gave(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.moved_at.store(self.all.now(), Ordering::Relaxed);
    }

    /// Since when the client takes nothing of what is ready.
    pub(crate) fn waits_since(&self) -> Option<u64> {
        (self.held.load(Ordering::Relaxed) > 0).then(|| self.moved_at.load(Ordering::Relaxed))
    }
}

//! What open connections hold, and the limits on all of them together.
//!
//! A client needs no token to connect, and to send the beginning of a request. So the memory for that is small per
//! connection, limited for all together, and when there are too many connections, those that were not admitted yet make
//! room. What the server holds for a connection is charged to an account, and when memory runs out, the clients that
//! have taken nothing for the longest time are disconnected.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::held::StreamProgress;

/// What a connection takes by itself: its task, hyper's state, and the first read buffer.
const CONNECTION_BYTES: usize = 20 << 10;
/// As much of an unfinished head fits into the first read buffer.
const FREE_HEAD_BYTES: usize = 8 << 10;
/// What unfinished heads may take beyond that, on all connections together.
const HEADS_TOGETHER: usize = 16 << 20;

/// A client that took something this recently is reading.
const READS_WITHIN_MS: u64 = 200;

/// Where connections charge the memory that they hold.
pub trait ConnectionMemory: std::fmt::Debug + Send + Sync + 'static {
    /// Charges memory that is in use already.
    fn charge(&self, bytes: usize);
    /// Gives charged memory back.
    fn refund(&self, bytes: usize);
}

/// Charges nothing.
#[derive(Debug)]
struct Uncharged;

impl ConnectionMemory for Uncharged {
    fn charge(&self, _bytes: usize) {}
    fn refund(&self, _bytes: usize) {}
}

/// The limits of a server's connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// How many connections may be open.
    pub max_connections: usize,
    /// A client that takes nothing for this long of what is ready for it is disconnected. `None` is no limit.
    pub send_timeout: Option<Duration>,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { max_connections: 4096, send_timeout: Some(Duration::from_secs(60)) }
    }
}

/// The open connections of one server.
#[derive(Debug)]
pub struct Connections {
    pub(crate) limits: ConnectionLimits,
    pub(crate) memory: Arc<dyn ConnectionMemory>,
    /// By age, oldest first.
    open: Mutex<BTreeMap<u64, Weak<Connection>>>,
    next: AtomicU64,
    /// What unfinished heads take beyond the free part.
    heads: AtomicUsize,
    started: Instant,
}

impl Default for Connections {
    fn default() -> Self {
        Self::new(ConnectionLimits::default(), Arc::new(Uncharged))
    }
}

impl Connections {
    /// No connections yet.
    #[must_use]
    pub fn new(limits: ConnectionLimits, memory: Arc<dyn ConnectionMemory>) -> Self {
        let (open, next, heads) = (Mutex::default(), AtomicU64::new(0), AtomicUsize::new(0));
        Self { limits, memory, open, next, heads, started: Instant::now() }
    }

    /// Registers an accepted connection. `None` when there are too many, all of them admitted.
    pub(crate) fn open(self: &Arc<Self>) -> Option<Arc<Connection>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection::new(number, Arc::clone(self)));
        let mut open = self.lock();
        // Connections that are being ended count until they are gone.
        let is_full = open.len() >= self.limits.max_connections;
        if !is_full {
            open.insert(number, Arc::downgrade(&connection));
            return Some(connection);
        }
        drop(open);
        self.displace().then(|| {
            self.lock().insert(number, Arc::downgrade(&connection));
            connection
        })
    }

    /// Ends the oldest connection that has not sent a request that was admitted. False when there is none.
    pub(crate) fn displace(&self) -> bool {
        // The last owner of a connection takes the lock again, so none may be dropped under it.
        let open: Vec<_> = self.lock().values().filter_map(Weak::upgrade).collect();
        let oldest = open.iter().find(|one| !one.is_admitted.load(Ordering::Relaxed) && !one.is_ended());
        if let Some(connection) = oldest {
            tracing::debug!("a connection without an admitted request makes room for another");
            connection.end();
        }
        oldest.is_some()
    }

    /// Ends connections whose clients take nothing of what is ready for them, those that have been waited for longest
    /// first, until they held `bytes` together. Called when memory runs out. Clients resume with their cursors. Returns how
    /// much is on its way back.
    pub fn relieve(&self, bytes: usize) -> usize {
        let Ok(open) = self.open.try_lock() else { return 0 };
        let open: Vec<_> = open.values().filter_map(Weak::upgrade).collect();
        let (mut returning, mut waiting) = (0, Vec::new());
        let waits = |since: &u64| self.now().saturating_sub(*since) >= READS_WITHIN_MS;
        for connection in open {
            let held = connection.held.load(Ordering::Relaxed);
            if held == 0 {
                continue;
            }
            if connection.is_ended() {
                returning += held;
            } else if let Some(since) = connection.waits_since().filter(waits) {
                waiting.push((since, held, connection));
            }
        }
        waiting.sort_by_key(|(since, _, _)| *since);
        for (_, held, connection) in waiting {
            if returning >= bytes {
                break;
            }
            tracing::info!(held, "memory is exhausted: disconnecting a client that does not read");
            connection.end();
            returning += held;
        }
        returning
    }

    /// Milliseconds since the start, never 0.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Weak<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    pub(crate) all: Arc<Connections>,
    /// Requests whose body is being read or whose response is being sent.
    busy: AtomicUsize,
    is_admitted: AtomicBool,
    is_ended: AtomicBool,
    ended: Notify,
    /// Since when the socket takes nothing; 0 when it does.
    blocked_since: AtomicU64,
    /// The bytes of responses that hyper holds.
    pub(crate) held: AtomicUsize,
    /// What hyper's read buffer has grown to, beyond the first one. It keeps its size.
    read_buffer: AtomicUsize,
    /// The part of an unfinished head that is beyond the free part.
    head: AtomicUsize,
    /// The responses on HTTP/2, which has flow control of its own.
    streams: Mutex<Vec<Weak<StreamProgress>>>,
    has_streams: Notify,
}

impl Connection {
    fn new(number: u64, all: Arc<Connections>) -> Self {
        all.memory.charge(CONNECTION_BYTES);
        Self {
            number,
            all,
            busy: AtomicUsize::new(0),
            is_admitted: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            ended: Notify::new(),
            blocked_since: AtomicU64::new(0),
            held: AtomicUsize::new(0),
            read_buffer: AtomicUsize::new(0),
            head: AtomicUsize::new(0),
            streams: Mutex::default(),
            has_streams: Notify::new(),
        }
    }

    /// Ends the connection, whatever hyper is waiting for.
    fn end(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
        self.ended.notify_one();
    }

    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Waits until the connection must end.
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// A request passed the access checks.
    pub(crate) fn admit(&self) {
        if !self.is_admitted.load(Ordering::Relaxed) {
            self.is_admitted.store(true, Ordering::Relaxed);
        }
    }

    /// Counts a request for as long as the result is held.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Bytes arrived. False when they belong to an unfinished head and there is no room for more of it.
    pub(crate) fn received(&self, bytes: usize, head: &mut usize) -> bool {
        if self.busy.load(Ordering::Relaxed) > 0 {
            self.finish_head(head);
            let grown = bytes.saturating_sub(FREE_HEAD_BYTES);
            if grown > self.read_buffer.load(Ordering::Relaxed) {
                self.all.memory.charge(grown - self.read_buffer.swap(grown, Ordering::Relaxed));
            }
            return true;
        }
        *head += bytes;
        let more = head.saturating_sub(FREE_HEAD_BYTES).saturating_sub(self.head.load(Ordering::Relaxed));
        if more == 0 {
            return true;
        }
        let fits = |heads: usize| heads.checked_add(more).filter(|sum| *sum <= HEADS_TOGETHER);
        if self.all.heads.try_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            return false;
        }
        self.all.memory.charge(more);
        self.head.fetch_add(more, Ordering::Relaxed);
        true
    }

    /// The head is complete: from here on, the request is accounted for by what it does.
    pub(crate) fn finish_head(&self, head: &mut usize) {
        *head = 0;
        let held = self.head.swap(0, Ordering::Relaxed);
        if held > 0 {
            self.all.heads.fetch_sub(held, Ordering::Relaxed);
            self.all.memory.refund(held);
        }
    }

    /// The socket takes nothing.
    pub(crate) fn blocked(&self) {
        if self.blocked_since.load(Ordering::Relaxed) == 0 {
            self.blocked_since.store(self.all.now(), Ordering::Relaxed);
        }
    }

    /// The socket took something.
    pub(crate) fn moved(&self) {
        if self.blocked_since.load(Ordering::Relaxed) != 0 {
            self.blocked_since.store(0, Ordering::Relaxed);
        }
    }

    /// Watches a response on HTTP/2.
    pub(crate) fn add_stream(&self, stream: &Arc<StreamProgress>) {
        let mut streams = self.streams();
        streams.retain(|one| one.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
        self.has_streams.notify_one();
    }

    /// Since when the client takes nothing, on the socket or on one of its streams.
    fn waits_since(&self) -> Option<u64> {
        let blocked = Some(self.blocked_since.load(Ordering::Relaxed)).filter(|since| *since > 0);
        blocked.into_iter().chain(self.stream_waits_since()).min()
    }

    fn stream_waits_since(&self) -> Option<u64> {
        self.streams().iter().filter_map(|one| one.upgrade()?.waits_since()).min()
    }

    /// Waits until a stream of HTTP/2 has taken nothing for as long as a client may. The kernel watches the socket, but
    /// a client of HTTP/2 can stop single streams.
    pub(crate) async fn stream_stalled(&self) {
        let Some(limit) = self.all.limits.send_timeout else { return std::future::pending().await };
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        // A connection of HTTP/1 has none, and costs no timer.
        self.has_streams.notified().await;
        loop {
            tokio::time::sleep(limit / 4).await;
            let now = self.all.now();
            if self.stream_waits_since().is_some_and(|since| now.saturating_sub(since) >= limit_ms) {
                return;
            }
        }
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, Vec<Weak<StreamProgress>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.finish_head(&mut 0);
        self.all.memory.refund(CONNECTION_BYTES + self.read_buffer.load(Ordering::Relaxed));
        self.all.lock().remove(&self.number);
    }
}

/// A request whose body is being read or whose response is being sent.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Connection>);

impl Busy {
    pub(crate) const fn connection(&self) -> &Arc<Connection> {
        &self.0
    }
}

impl Clone for Busy {
    fn clone(&self) -> Self {
        self.0.begin()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(max_connections: usize) -> Arc<Connections> {
        let limits = ConnectionLimits { max_connections, ..ConnectionLimits::default() };
        let started = Instant::now() - Duration::from_secs(10);
        Arc::new(Connections { started, ..Connections::new(limits, Arc::new(Uncharged)) })
    }

    #[test]
    fn when_there_are_too_many_connections_the_oldest_without_an_admitted_request_makes_room() {
        let all = connections(3);
        let open: Vec<_> = (0..3).map(|_| all.open().unwrap()).collect();
        open[0].admit();
        let fourth = all.open().unwrap();
        assert!(open[1].is_ended() && !open[0].is_ended() && !open[2].is_ended());
        for connection in [&open[2], &fourth] {
            connection.admit();
        }
        assert!(all.open().is_none());
        drop(open);
        assert!(all.open().is_some());
    }

    #[test]
    fn unfinished_heads_have_a_limit_together_and_finished_ones_do_not_count() {
        let all = connections(10_000);
        let fill = |connection: &Connection| connection.received(72 << 10, &mut 0);
        let open: Vec<_> = (0..257).map(|_| all.open().unwrap()).collect();
        assert!(open[..256].iter().all(|connection| fill(connection)));
        assert!(!fill(&open[256]) && open[256].received(FREE_HEAD_BYTES, &mut 0));
        open[0].finish_head(&mut 0);
        assert!(fill(&open[256]));
        let busy = open[1].begin();
        assert!(open[1].received(1 << 30, &mut 0));
        drop((busy, open));
        assert_eq!(all.heads.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn memory_is_taken_from_the_clients_that_have_not_read_for_longest() {
        let all = connections(10);
        let open: Vec<_> = (0..4).map(|_| all.open().unwrap()).collect();
        for (connection, since) in open.iter().zip([3, 1, 2, 0]) {
            connection.held.store(10, Ordering::Relaxed);
            connection.blocked_since.store(since, Ordering::Relaxed);
        }
        let ended = || open.iter().map(|one| one.is_ended()).collect::<Vec<_>>();
        assert_eq!(all.relieve(15), 20);
        assert_eq!(ended(), [false, true, true, false]);
        // What is on its way back is waited for.
        assert_eq!(all.relieve(20), 20);
        assert_eq!(ended(), [false, true, true, false]);
        assert_eq!(all.relieve(100), 30);
        assert_eq!(ended(), [true, true, true, false], "a client that reads keeps its connection");
    }
}

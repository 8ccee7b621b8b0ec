//! Telling all connections to finish, and waiting until they have.
//!
//! A connection is asked by looking at a flag whenever it has something to do anyway. It is woken for the flag by a
//! watch, which it registers with once: a task has one waker for all its life.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper_util::server::graceful::GracefulConnection;
use tokio::sync::watch;
use tokio::task::coop::unconstrained;

/// All connections of a server.
#[derive(Debug)]
pub(crate) struct Drain {
    is_closing: Arc<AtomicBool>,
    wake: watch::Sender<()>,
}

impl Drain {
    pub(crate) fn new() -> Self {
        Self { is_closing: Arc::default(), wake: watch::Sender::new(()) }
    }

    /// For one connection, which holds it for as long as it is there.
    pub(crate) fn ticket(&self) -> Ticket {
        let open = self.wake.subscribe();
        let mut woken = open.clone();
        Ticket {
            is_closing: Arc::clone(&self.is_closing),
            notice: Box::pin(async move {
                let _ = woken.changed().await;
            }),
            _open: open,
            is_registered: false,
        }
    }

    /// Tells all connections to finish, and returns when they have.
    pub(crate) async fn finish(self) {
        self.is_closing.store(true, Ordering::Release);
        self.wake.send_replace(());
        // Every connection holds a receiver for as long as it is there.
        self.wake.closed().await;
    }
}

/// A connection's part in the end of all.
pub(crate) struct Ticket {
    is_closing: Arc<AtomicBool>,
    /// Wakes the connection to look at the flag.
    notice: Pin<Box<dyn Future<Output = ()> + Send>>,
    _open: watch::Receiver<()>,
    is_registered: bool,
}

impl Ticket {
    /// Whether the connection is to finish. From the first call on, its task is woken when it is.
    pub(crate) fn is_told(&mut self, context: &mut Context<'_>) -> bool {
        // Registering comes before the look at the flag, so that it cannot be missed.
        if !self.is_registered {
            self.is_registered = true;
            // It is polled this once, so it must not be put off because the task has done much already.
            let _ = pin!(unconstrained(self.notice.as_mut())).poll(context);
        }
        self.is_closing.load(Ordering::Acquire)
    }

    /// A connection of hyper's that finishes when it is told to.
    pub(crate) fn watch<C: GracefulConnection>(self, connection: C) -> Watched<C> {
        Watched { connection: Box::pin(connection), ticket: self, was_told: false }
    }
}

/// A connection that finishes when it is told to.
pub(crate) struct Watched<C> {
    connection: Pin<Box<C>>,
    ticket: Ticket,
    was_told: bool,
}

impl<C: GracefulConnection> Future for Watched<C> {
    type Output = C::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<C::Output> {
        let this = &mut *self;
        // First, so that a request that was read before is not dropped: a connection that has looked at nothing yet ends
        // at once when it is told to.
        if let Poll::Ready(output) = this.connection.as_mut().poll(context) {
            return Poll::Ready(output);
        }
        if this.was_told || !this.ticket.is_told(context) {
            return Poll::Pending;
        }
        this.was_told = true;
        this.connection.as_mut().graceful_shutdown();
        this.connection.as_mut().poll(context)
    }
}

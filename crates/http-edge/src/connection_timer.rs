//! The time a client may take to send its headers, without a timer for each request.
//!
//! hyper sets a new timer whenever it begins to wait for a request and cancels it when the request is there. This one
//! notes the deadline instead; a single timer a connection is set when there is none, and when it goes off the noted
//! deadline decides. So a busy connection sets a timer every half minute rather than thousands of times a second.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

/// The timer of one connection, for hyper.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionTimer(Arc<Mutex<Option<Instant>>>);

impl ConnectionTimer {
    /// The connection's future, with the one timer it needs.
    pub(crate) fn drive<F: Future + Unpin>(self, connection: F) -> Timed<F> {
        Timed { connection, timer: self, alarm: None }
    }

    fn note(&self, deadline: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    fn noted(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Timer for ConnectionTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Pause { deadline, timer: self.clone() })
    }
}

/// One wait for headers.
struct Pause {
    deadline: Instant,
    timer: ConnectionTimer,
}

impl Future for Pause {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if self.timer.now() >= self.deadline {
            return Poll::Ready(());
        }
        // The connection's own alarm wakes this one's task, which is the same.
        self.timer.note(Some(self.deadline));
        Poll::Pending
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.timer.note(None);
    }
}

impl Sleep for Pause {}

/// A connection with its alarm.
pub(crate) struct Timed<F> {
    connection: F,
    timer: ConnectionTimer,
    /// Set for the noted deadline or an earlier one.
    alarm: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl<F: Future + Unpin> Future for Timed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        loop {
            if let Poll::Ready(output) = Pin::new(&mut this.connection).poll(context) {
                return Poll::Ready(output);
            }
            match &this.alarm {
                // It has this task's waker, and a task has only one.
                Some(alarm) if !alarm.is_elapsed() => return Poll::Pending,
                _ => {}
            }
            let Some(deadline) = this.timer.noted() else {
                this.alarm = None;
                return Poll::Pending;
            };
            let mut alarm = Box::pin(tokio::time::sleep_until(deadline.into()));
            if alarm.as_mut().poll(context).is_pending() {
                this.alarm = Some(alarm);
                return Poll::Pending;
            }
            // It has passed by now, which is for the connection to see; if it looks elsewhere, that is that.
            this.timer.note(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// Waits like hyper: a new pause a request, each dropped when its request is there.
    #[tokio::test]
    async fn only_a_wait_that_is_not_over_ends_the_connection() {
        let timer = ConnectionTimer::default();
        let hyper = timer.clone();
        let started = tokio::time::Instant::now();
        let connection = Box::pin(async move {
            for _ in 0..3 {
                let mut pause = hyper.sleep(Duration::from_millis(300));
                assert!(poll_fn(|context| Poll::Ready(pause.as_mut().poll(context).is_pending())).await);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            hyper.sleep(Duration::from_millis(300)).await;
        });
        timer.drive(connection).await;
        assert!(started.elapsed() >= Duration::from_millis(900));
    }
}

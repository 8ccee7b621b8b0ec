//! The time a client may take to send its headers, without a timer or a look at the clock for each request.
//!
//! hyper sets a new timer whenever it begins to wait for a request and drops it when the request is there. Here that only
//! counts. One alarm a connection goes off now and then; a wait that was there when the alarm was set and still is has
//! taken too long. So a client has at least the time it is given and at most twice that.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::task::coop::unconstrained;

/// The timer of one connection, for hyper and for the lane before it.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionTimer {
    /// What hyper takes for the present. It only ever asks in order to add the time that it waits.
    started: Instant,
    waits: Arc<Waits>,
}

/// What is known of the waits of a connection. Only its own task ever looks.
#[derive(Debug, Default)]
struct Waits {
    /// Grows by one when a wait begins and when it ends, so that it is odd during one.
    count: AtomicU64,
    /// Whether the present one has taken too long.
    is_over: AtomicBool,
}

impl Waits {
    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn step(&self) {
        self.count.store(self.count() + 1, Ordering::Relaxed);
    }
}

impl Default for ConnectionTimer {
    fn default() -> Self {
        Self { started: Instant::now(), waits: Arc::default() }
    }
}

impl ConnectionTimer {
    /// The connection's future, with the one alarm it needs.
    pub(crate) fn drive<F: Future + Unpin>(self, connection: F, limit: Duration) -> Timed<F> {
        // What was before this connection's future, if anything, has seen it.
        self.waits.is_over.store(false, Ordering::Relaxed);
        Timed { connection, waits: self.waits, limit, alarm: None }
    }

    /// Begins a wait, which is over when this is dropped and too long when this is ready.
    pub(crate) fn pause(&self) -> Pause {
        self.waits.step();
        Pause(Arc::clone(&self.waits))
    }
}

impl Timer for ConnectionTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn now(&self) -> Instant {
        self.started
    }

    fn sleep_until(&self, _deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.pause())
    }
}

/// One wait for headers.
pub(crate) struct Pause(Arc<Waits>);

impl Future for Pause {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        // The connection's own alarm wakes this one's task, which is the same.
        if self.0.is_over.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.step();
    }
}

impl Sleep for Pause {}

/// A connection with its alarm.
pub(crate) struct Timed<F> {
    connection: F,
    waits: Arc<Waits>,
    limit: Duration,
    alarm: Option<Alarm>,
}

struct Alarm {
    sleep: Pin<Box<tokio::time::Sleep>>,
    /// Which wait it was set in.
    wait: u64,
}

impl<F: Future + Unpin> Future for Timed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        loop {
            if let Poll::Ready(output) = Pin::new(&mut this.connection).poll(context) {
                return Poll::Ready(output);
            }
            // Whoever was to see it has.
            this.waits.is_over.store(false, Ordering::Relaxed);
            match &this.alarm {
                // It has this task's waker, and a task has only one.
                Some(alarm) if !alarm.sleep.is_elapsed() => return Poll::Pending,
                Some(alarm) if alarm.wait == this.waits.count() => {
                    this.alarm = None;
                    this.waits.is_over.store(true, Ordering::Relaxed);
                }
                _ => {
                    let wait = this.waits.count();
                    if wait.is_multiple_of(2) {
                        // Nobody waits. Whoever begins to is polled, and so is this.
                        this.alarm = None;
                        return Poll::Pending;
                    }
                    let mut sleep = Box::pin(tokio::time::sleep(this.limit));
                    // It is polled this once, so it must not be put off because the task has done much already.
                    if pin!(unconstrained(sleep.as_mut())).poll(context).is_pending() {
                        this.alarm = Some(Alarm { sleep, wait });
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::task::coop::{consume_budget, has_budget_remaining};

    use super::*;

    /// Waits like hyper: a new pause a request, each dropped when its request is there.
    #[tokio::test]
    async fn only_a_wait_that_is_not_over_ends_the_connection() {
        let timer = ConnectionTimer::default();
        let hyper = timer.clone();
        let limit = Duration::from_millis(300);
        let started = tokio::time::Instant::now();
        let connection = Box::pin(async move {
            for _ in 0..3 {
                let mut pause = hyper.sleep(limit);
                assert!(poll_fn(|context| Poll::Ready(pause.as_mut().poll(context).is_pending())).await);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            hyper.sleep(limit).await;
        });
        timer.drive(connection, limit).await;
        assert!(started.elapsed() >= Duration::from_millis(900));
    }

    /// A request that takes long, or an answer that streams, is no wait.
    #[tokio::test]
    async fn a_connection_that_does_not_wait_is_left_alone() {
        let timer = ConnectionTimer::default();
        let hyper = timer.clone();
        let limit = Duration::from_millis(50);
        let connection = Box::pin(async move {
            drop(hyper.sleep(limit));
            tokio::time::sleep(limit * 4).await;
            let mut pause = hyper.sleep(limit);
            poll_fn(|context| Poll::Ready(pause.as_mut().poll(context).is_pending())).await
        });
        assert!(timer.drive(connection, limit).await, "the new wait has only begun");
    }

    /// Whoever makes the task do so much at once that it has to let others go first still has its time limited.
    #[tokio::test]
    async fn a_task_that_has_done_its_share_still_sets_its_alarm() {
        let timer = ConnectionTimer::default();
        let hyper = timer.clone();
        let limit = Duration::from_millis(50);
        let connection = Box::pin(async move {
            poll_fn(|context| {
                while has_budget_remaining() {
                    let _ = pin!(consume_budget()).poll(context);
                }
                Poll::Ready(())
            })
            .await;
            hyper.pause().await;
        });
        let timed = tokio::spawn(timer.drive(connection, limit));
        tokio::time::timeout(Duration::from_secs(20), timed).await.expect("the alarm goes off").unwrap();
    }
}

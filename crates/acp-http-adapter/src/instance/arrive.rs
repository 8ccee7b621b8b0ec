//! How a client's message gets into the queue.

use std::sync::{Arc, MutexGuard};

use http_edge::{Code, Problem};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{Admission, Incoming, Instance, State};
use crate::exit_record::{EndCause, ExitRecord};
use crate::idempotency::IdempotencyKey;

impl Instance {
    /// Takes a message in. Once this has begun to wait for room, it goes on to its end even if the caller leaves,
    /// so that a repeat under the same key finds it.
    pub(crate) async fn accept(self: &Arc<Self>, incoming: Incoming) -> Result<Admission, Problem> {
        let admission = self.try_accept(incoming)?;
        self.settle(admission).await
    }

    /// Waits until it is known what came of a message, where that is not known at once.
    pub(crate) async fn settle(self: &Arc<Self>, admission: Admission) -> Result<Admission, Problem> {
        match admission {
            // In boxes, since these are rare.
            Admission::NoRoom(waiting) => Box::pin(self.accept_when_there_is_room(*waiting)).await,
            Admission::Arriving(repeat) => Box::pin(self.accept_after_the_first(*repeat)).await,
            admission => Ok(admission),
        }
    }

    /// Takes in a repeat of a message that still waits for room.
    async fn accept_after_the_first(self: &Arc<Self>, repeat: Incoming) -> Result<Admission, Problem> {
        let mut repeat = repeat;
        loop {
            // Listening starts before looking: an arrival that resolves in between is not missed.
            let arrivals = self.arrivals.notified();
            match self.try_accept(repeat)? {
                Admission::NoRoom(waiting) => return self.accept_when_there_is_room(*waiting).await,
                Admission::Arriving(again) => {
                    arrivals.await;
                    repeat = *again;
                }
                admission => return Ok(admission),
            }
        }
    }

    /// Takes a message in if that can be done at once; else [`Self::settle`] goes on.
    pub(crate) fn try_accept(self: &Arc<Self>, incoming: Incoming) -> Result<Admission, Problem> {
        let permits = self.permits_for(&incoming);
        let mut state = self.lock();
        let said = state.log.events.end();
        let admission =
            state.admit(incoming, || Arc::clone(&self.room).try_acquire_many_owned(permits).ok())?;
        if let Admission::NoRoom(waiting) = &admission {
            state.mark_arriving(waiting.key.as_ref());
        }
        self.wake_after(&admission, said, state);
        Ok(admission)
    }

    async fn accept_when_there_is_room(self: &Arc<Self>, incoming: Incoming) -> Result<Admission, Problem> {
        let (tell, told) = oneshot::channel();
        let instance = Arc::clone(self);
        tokio::spawn(async move {
            let result = instance.wait_for_room(incoming).await;
            instance.arrivals.notify_waiters();
            // A caller that has left gave up its answer, not its message.
            let _ = tell.send(result);
        });
        told.await
            .unwrap_or_else(|_| Err(Problem::new(Code::Internal, "the server lost track of this message")))
    }

    async fn wait_for_room(self: &Arc<Self>, incoming: Incoming) -> Result<Admission, Problem> {
        let key = incoming.key.clone();
        let room = self.room_in_time(self.permits_for(&incoming)).await;
        match room {
            Ok(room) => self.admit_arrival(incoming, room),
            Err(problem) => {
                self.forget_arrival(key.as_ref());
                Err(problem)
            }
        }
    }

    fn admit_arrival(
        self: &Arc<Self>,
        incoming: Incoming,
        room: OwnedSemaphorePermit,
    ) -> Result<Admission, Problem> {
        let mut state = self.lock();
        let said = state.log.events.end();
        state.forget_arriving(incoming.key.as_ref());
        match state.admit(incoming, || Some(room)) {
            Ok(admission) => {
                self.wake_after(&admission, said, state);
                Ok(admission)
            }
            Err(problem) if problem.code() == Code::InstanceClosing => {
                drop(state);
                Err(self.closed_meanwhile())
            }
            Err(problem) => Err(problem),
        }
    }

    /// What a message is told that was here before the end came, unlike one that comes during it.
    fn closed_meanwhile(&self) -> Problem {
        let cause = if self.shared.is_stopping() { EndCause::Stopping } else { EndCause::Closed };
        ExitRecord { cause, stderr_tail: String::new(), event: 0 }.to_problem()
    }

    fn forget_arrival(&self, key: Option<&IdempotencyKey>) {
        self.lock().forget_arriving(key);
    }

    async fn room_in_time(&self, permits: u32) -> Result<OwnedSemaphorePermit, Problem> {
        let patience = self.shared.limits.queue_patience;
        match tokio::time::timeout(patience, Arc::clone(&self.room).acquire_many_owned(permits)).await {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_closed)) => Err(self.closed_meanwhile()),
            Err(_elapsed) => Err(Problem::new(
                Code::AgentNotReading,
                format!(
                    "the agent has not read its input for {} s and its queue is full; wait for it, or DELETE it",
                    patience.as_secs()
                ),
            )
            .retry_after(10)),
        }
    }

    /// Wakes whoever has something to do now. `said` is where the log ended before.
    fn wake_after(self: &Arc<Self>, admission: &Admission, said: u64, mut state: MutexGuard<'_, State>) {
        let taken =
            matches!(admission, Admission::Accepted | Admission::Waiting(..) | Admission::Starting(_));
        let watch_overdue = matches!(admission, Admission::Waiting(..)) && !state.overdue_watched;
        state.overdue_watched |= watch_overdue;
        let has_said = state.log.events.end() > said;
        drop(state);
        if taken {
            self.queued.notify_one();
            // Most messages are news to the journal alone.
            if has_said { self.announce() } else { self.announce_sent() }
        }
        if watch_overdue {
            self.watch_overdue();
        }
    }

    /// A message larger than the whole queue takes all of it.
    fn permits_for(&self, incoming: &Incoming) -> u32 {
        let whole = self.shared.limits.stdin_queue_bytes.clamp(1, u32::MAX as usize);
        u32::try_from(incoming.line.len().min(whole).min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX)
    }
}

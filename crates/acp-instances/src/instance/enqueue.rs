//! Puts clients' messages into the queue of lines for the agent.

use std::future::Future;
use std::sync::{Arc, MutexGuard};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{Admission, Incoming, Instance, State};
use crate::error::Error;

impl Instance {
    /// Waits for the admission of a message that [`Self::try_enqueue`] could not enqueue at once.
    pub(crate) async fn settle(self: &Arc<Self>, admission: Admission) -> Result<Admission, Error> {
        match admission {
            Admission::NoRoom(waiting) => self.enqueue_when_there_is_room(*waiting).await,
            Admission::Enqueueing(repeat) => self.enqueue_after_the_original(*repeat).await,
            admission => Ok(admission),
        }
    }

    /// True when a caller may not yet learn of an admission: see [`Self::acknowledge`].
    pub(crate) fn must_wait(&self, admission: &Admission) -> bool {
        match admission {
            Admission::Stored(_) => true,
            // The answer can only arrive after the request is in the journal.
            Admission::Admitted { awaits_answer: true, .. } => false,
            _ => self.journal.is_some() && !self.lock().unwritten.is_clean(),
        }
    }

    /// Waits until a caller may learn of an admission: once the journal has it, and what it repeats is read.
    pub(crate) async fn acknowledge(self: &Arc<Self>, admission: Admission) -> Admission {
        let written = self.lock().unwritten.acknowledgement();
        if let Some(written) = written
            && self.must_wait(&admission)
        {
            let _ = written.await;
        }
        match admission {
            Admission::Stored(sequence) => Admission::Settled(self.stored_answer(sequence).await),
            admission => admission,
        }
    }

    /// Enqueues a repeated message whose original still waits for room.
    async fn enqueue_after_the_original(self: &Arc<Self>, repeat: Incoming) -> Result<Admission, Error> {
        let mut repeat = repeat;
        loop {
            // Register before checking, so that an original settled in between is not missed.
            let enqueued = self.enqueued.notified();
            match self.try_enqueue(repeat)? {
                Admission::NoRoom(waiting) => return self.enqueue_when_there_is_room(*waiting).await,
                Admission::Enqueueing(again) => {
                    enqueued.await;
                    repeat = *again;
                }
                admission => return Ok(admission),
            }
        }
    }

    /// Enqueues a message if that is possible without waiting. Otherwise [`Self::settle`] has to be called
    /// with the result.
    pub(crate) fn try_enqueue(self: &Arc<Self>, incoming: Incoming) -> Result<Admission, Error> {
        let permits = self.permits_for(&incoming);
        let mut state = self.lock();
        let newest = state.output.newest_order();
        let admission =
            state.admit(incoming, || Arc::clone(&self.room).try_acquire_many_owned(permits).ok())?;
        if let Admission::NoRoom(waiting) = &admission {
            state.mark_enqueueing(waiting.key.as_ref());
        }
        self.wake_after(&admission, newest, state);
        Ok(admission)
    }

    /// Waits for room in a separate task, so that the message is enqueued even if its sender leaves, and so
    /// that a repeat under the same key finds it. The task starts immediately, whether or not its result is
    /// awaited.
    pub(crate) fn enqueue_when_there_is_room(
        self: &Arc<Self>,
        incoming: Incoming,
    ) -> impl Future<Output = Result<Admission, Error>> + Send + use<> {
        let (sender, receiver) = oneshot::channel();
        let instance = Arc::clone(self);
        tokio::spawn(async move {
            let result = instance.wait_for_room(incoming).await;
            instance.enqueued.notify_waiters();
            // If the sender has left, its receipt is lost, but its message is not.
            let _ = sender.send(result);
        });
        async move {
            receiver.await.unwrap_or_else(|_| Err(Error::internal("the server lost track of this message")))
        }
    }

    async fn wait_for_room(self: &Arc<Self>, incoming: Incoming) -> Result<Admission, Error> {
        match self.room_in_time(self.permits_for(&incoming)).await {
            Ok(room) => self.enqueue_with_room(incoming, room),
            Err(error) => {
                self.lock().forget_key(incoming.key.as_ref());
                Err(error)
            }
        }
    }

    fn enqueue_with_room(
        self: &Arc<Self>,
        incoming: Incoming,
        room: OwnedSemaphorePermit,
    ) -> Result<Admission, Error> {
        let mut state = self.lock();
        let newest = state.output.newest_order();
        state.forget_key(incoming.key.as_ref());
        match state.admit(incoming, || Some(room)) {
            Ok(admission) => {
                self.wake_after(&admission, newest, state);
                Ok(admission)
            }
            Err(Error::InstanceClosing) => Err(self.closed_meanwhile()),
            Err(error) => Err(error),
        }
    }

    /// The error for a message that arrived before the instance was closed, as opposed to one that arrives
    /// during the closing.
    fn closed_meanwhile(&self) -> Error {
        if self.shared.is_shutting_down() { Error::ShuttingDown } else { Error::InstanceClosed }
    }

    async fn room_in_time(&self, permits: u32) -> Result<OwnedSemaphorePermit, Error> {
        let patience = self.shared.limits.queue_patience;
        match tokio::time::timeout(patience, Arc::clone(&self.room).acquire_many_owned(permits)).await {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_closed)) => Err(self.closed_meanwhile()),
            Err(_elapsed) => Err(Error::AgentNotReading { waited: patience }),
        }
    }

    /// Wakes every task that has something to do after an admission. `newest` is the number of the newest
    /// event of the output before the admission.
    fn wake_after(self: &Arc<Self>, admission: &Admission, newest: u64, mut state: MutexGuard<'_, State>) {
        let (is_queued, has_waiter) = match admission {
            Admission::Admitted { awaits_answer, .. } => (true, *awaits_answer),
            // The timer that was started for the original may have ended by now.
            Admission::Repeated(waiter) => (false, waiter.is_some()),
            Admission::Settled(_)
            | Admission::Stored(_)
            | Admission::Enqueueing(_)
            | Admission::NoRoom(_) => return,
        };
        let needs_timer = has_waiter && !state.has_timer;
        state.has_timer |= needs_timer;
        let has_output = state.output.newest_order() > newest;
        // The task that writes to the agent writes to the journal first, for all that have sent until then.
        let is_left_to_writer = has_waiter && state.is_writer_idle;
        drop(state);
        if is_queued {
            self.queued.notify_one();
            if self.journal.is_some() {
                if !is_left_to_writer {
                    self.commit();
                }
            } else if has_output {
                // A client's message is an event only in the journal view. Wake the readers of the output only if it
                // has a new event too.
                self.announce();
            } else {
                self.announce_sent();
            }
        }
        if needs_timer {
            self.watch_timeouts();
        }
    }

    /// How much of the queue a message takes, in bytes. A message larger than the whole queue takes all of
    /// it.
    fn permits_for(&self, incoming: &Incoming) -> u32 {
        let whole = self.shared.limits.stdin_queue_bytes.clamp(1, u32::MAX as usize);
        u32::try_from(incoming.message.line.len().min(whole).min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX)
    }
}

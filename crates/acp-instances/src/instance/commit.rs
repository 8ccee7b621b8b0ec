//! Writes the events of an instance to its journal.
//!
//! A task that finds the writer idle writes for all tasks that wait, outside of the instance's lock. One write
//! takes what has gathered since the last one, so a flood costs by the write and not by the message.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use event_log::MemoryAccount;
use journal::{Entry, Found, Journal, Place, StreamId, StreamReader, StreamWriter};
use serde_json::json;
use tokio::sync::oneshot;

use super::Instance;
use super::settlements::Settlements;
use crate::clock::now_ms;
use crate::error::Error;
use crate::event::EventKind;
use crate::message::{Answer, Settled};

/// How long writes may fail before the instance continues without its journal.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a failed write is tried again until then.
const RETRY: Duration = Duration::from_millis(100);
/// How often a suspended journal is tried again.
const RESUME: Duration = Duration::from_secs(1);
/// While this many bytes wait to be written, no more output is read from the agent.
const MAX_UNWRITTEN: usize = 8 << 20;
/// The most bytes that one read of the journal returns, except for a single longer event.
const READ_BYTES: usize = 256 << 10;

/// An instance's part of the journal.
#[derive(Debug)]
pub(crate) struct InstanceJournal {
    journal: Journal,
    id: StreamId,
    label: Bytes,
    writer: Mutex<Writer>,
}

/// The writing end. Locked by the task that writes; see [`super::unwritten::Unwritten::begin`].
#[derive(Debug, Default)]
struct Writer {
    /// Created with the first entry, because an instance that never had one leaves nothing behind.
    stream: Option<StreamWriter>,
    failing_since: Option<Instant>,
    status: Status,
}

/// Whether an instance's journal is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Status {
    #[default]
    Written,
    /// The instance continues in memory, because writes fail.
    Suspended,
    /// The instance is gone.
    Closed,
}

impl InstanceJournal {
    pub(crate) fn new(journal: Journal, id: StreamId, label: Bytes, stream: Option<StreamWriter>) -> Self {
        Self { journal, id, label, writer: Mutex::new(Writer { stream, ..Writer::default() }) }
    }

    /// A reader of this part.
    pub(crate) fn reader(&self) -> io::Result<StreamReader> {
        self.journal.reader(&self.id)
    }

    /// The sequence number of the oldest event that the journal holds.
    pub(crate) fn oldest_sequence(&self) -> Option<u64> {
        self.journal.info(&self.id).map(|info| info.oldest_sequence)
    }

    fn write(&self, entries: &[Entry], checkpoint: impl FnOnce() -> Vec<u8>) -> io::Result<()> {
        let mut writer = self.writer();
        let written = self.append(&mut writer, entries, checkpoint);
        match &written {
            Ok(()) => writer.failing_since = None,
            Err(_) => _ = writer.failing_since.get_or_insert_with(Instant::now),
        }
        written
    }

    fn append(
        &self,
        writer: &mut Writer,
        entries: &[Entry],
        checkpoint: impl FnOnce() -> Vec<u8>,
    ) -> io::Result<()> {
        let stream = match &mut writer.stream {
            Some(stream) => stream,
            None => writer.stream.insert(self.journal.create(&self.id, &self.label)?),
        };
        if stream.wants_segment() {
            stream.start_segment(&checkpoint())?;
        }
        stream.append(entries)
    }

    fn has_failed_for(&self, patience: Duration) -> bool {
        self.writer().failing_since.is_some_and(|since| since.elapsed() >= patience)
    }

    /// Begins a new segment after entries that could not be written, the last of them at `lost`. Returns false if the
    /// journal was closed.
    fn resume(&self, checkpoint: &[u8], lost: Place) -> io::Result<bool> {
        let mut writer = self.writer();
        if writer.status == Status::Closed {
            return Ok(false);
        }
        match &mut writer.stream {
            Some(stream) => {
                stream.skip_to(lost);
                stream.start_segment(checkpoint)?;
            }
            None => writer.stream = Some(self.journal.create(&self.id, &self.label)?),
        }
        (writer.failing_since, writer.status) = (None, Status::Written);
        Ok(true)
    }

    fn suspend(&self) {
        self.writer().status = Status::Suspended;
    }

    /// Closes the journal, because the instance is gone: it becomes history. Returns true if it was suspended.
    fn close(&self) -> bool {
        let mut writer = self.writer();
        let was_suspended = std::mem::replace(&mut writer.status, Status::Closed) == Status::Suspended;
        if let Some(mut stream) = writer.stream.take()
            && let Err(error) = stream.close()
        {
            tracing::warn!(%error, "cannot note in the journal that an instance was closed");
        }
        was_suspended
    }

    fn writer(&self) -> std::sync::MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance {
    /// Delivers settlements and wakes readers after everything that has happened is in the journal.
    pub(crate) fn publish(self: &Arc<Self>, settlements: Settlements) {
        let settlements = self.lock().unwritten.hold(settlements);
        if let Some(settlements) = settlements {
            settlements.deliver();
            self.announce();
        }
        self.commit();
    }

    /// Writes the entries that wait to the journal, unless another task is writing them.
    pub(crate) fn commit(self: &Arc<Self>) {
        if self.journal.is_none() {
            return;
        }
        if self.shared.syncs_every_write {
            // A slow disk must not delay the messages of other instances.
            if self.lock().unwritten.has_work() {
                let instance = Arc::clone(self);
                tokio::task::spawn_blocking(move || instance.write_unwritten());
            }
        } else {
            self.write_unwritten();
        }
    }

    fn write_unwritten(self: &Arc<Self>) {
        let Some(journal) = &self.journal else { return };
        let begun = self.lock().unwritten.begin();
        let Some(mut entries) = begun else { return };
        loop {
            if let Err(error) = journal.write(&entries, || self.lock().checkpoint()) {
                self.lock().unwritten.put_back(entries);
                return self.on_write_error(journal, &error);
            }
            let (effects, next) = {
                let mut state = self.lock();
                let effects = state.unwritten.on_written(&entries);
                if !state.queue.is_empty() {
                    self.queued.notify_one();
                }
                (effects, state.unwritten.next(entries))
            };
            effects.deliver();
            self.announce();
            match next {
                Some(next) => entries = next,
                None => return,
            }
        }
    }

    fn on_write_error(self: &Arc<Self>, journal: &InstanceJournal, error: &io::Error) {
        if journal.has_failed_for(PATIENCE) {
            self.suspend_journal(journal, error);
            return;
        }
        tracing::debug!(server_id = %self.id, %error, "cannot write to the journal; trying again");
        let instance = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(RETRY).await;
            instance.lock().unwritten.unpause();
            instance.commit();
        });
    }

    /// Continues without the journal, and reports that in an event.
    fn suspend_journal(self: &Arc<Self>, journal: &InstanceJournal, error: &io::Error) {
        tracing::error!(
            server_id = %self.id, %error,
            "the journal cannot be written: the instance goes on in memory; events from here on are lost if the server dies"
        );
        journal.suspend();
        self.shared.journal_suspended(1);
        let effects = {
            let mut state = self.lock();
            let effects = state.unwritten.suspend();
            state.note(
                EventKind::JournalSuspended,
                json!({"reason": error.to_string()}).to_string(),
                now_ms(),
            );
            effects
        };
        effects.deliver();
        self.announce();
        self.queued.notify_one();
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(RESUME).await;
                let Some(instance) = weak.upgrade() else { return };
                let resumed = tokio::task::spawn_blocking(move || instance.resume_journal()).await;
                if !matches!(resumed, Ok(false)) {
                    return;
                }
            }
        });
    }

    /// Tries to write to a suspended journal again. Returns true if that succeeded, or if there is no journal.
    fn resume_journal(self: &Arc<Self>) -> bool {
        let Some(journal) = &self.journal else { return true };
        let (checkpoint, lost) = {
            let state = self.lock();
            let (order, sequence) = (state.newest_position(), state.output.next_sequence() - 1);
            (state.checkpoint(), Place { order, sequence, is_numbered: false })
        };
        match journal.resume(&checkpoint, lost) {
            Ok(true) => {}
            Ok(false) => return true,
            Err(error) => {
                tracing::debug!(server_id = %self.id, %error, "the journal still cannot be written");
                return false;
            }
        }
        tracing::info!(server_id = %self.id, "the journal is written again");
        self.shared.journal_suspended(-1);
        {
            let mut state = self.lock();
            state.unwritten.resume(self.shared.order.newest());
            state.note(EventKind::JournalResumed, "{}".to_owned(), now_ms());
        }
        self.announce();
        self.commit();
        true
    }

    /// Marks the instance's history as complete, once everything is written. Call it when no more entries can come.
    pub(crate) async fn close_journal(self: &Arc<Self>) {
        let Some(journal) = &self.journal else { return };
        self.commit();
        let written = self.lock().unwritten.acknowledgement();
        if let Some(written) = written {
            // This wait ends: if no write succeeds for a while, the journal is suspended.
            let _ = written.await;
        }
        if journal.close() {
            self.shared.journal_suspended(-1);
        }
    }

    /// If too many bytes wait to be written, waits until those are written.
    pub(crate) async fn wait_for_journal(&self) {
        let acknowledgement: Option<oneshot::Receiver<()>> = {
            let mut state = self.lock();
            let is_behind = state.unwritten.bytes() > MAX_UNWRITTEN;
            if is_behind { state.unwritten.acknowledgement() } else { None }
        };
        if let Some(acknowledgement) = acknowledgement {
            let _ = acknowledgement.await;
        }
    }

    /// The agent's answer that this event contains, from memory or from the journal.
    pub(crate) async fn stored_answer(self: &Arc<Self>, sequence: u64) -> Settled {
        if let Some(answer) = self.lock().output.find(sequence) {
            return Ok(Answer::Response(answer));
        }
        let instance = Arc::clone(self);
        let found = tokio::task::spawn_blocking(move || {
            let journal = instance.journal.as_ref()?;
            find(&mut journal.reader().ok()?, sequence, &instance.shared.account)
        });
        found.await.ok().flatten().map(Answer::Response).ok_or(Error::OutcomeGone)
    }
}

/// The event with a sequence number.
fn find(reader: &mut StreamReader, sequence: u64, account: &Arc<MemoryAccount>) -> Option<Bytes> {
    let before = reader.order_of_sequence(sequence.checked_sub(1)?).ok()??;
    reader.seek_after_order(before).ok()?;
    loop {
        let batch = reader.read(READ_BYTES, account).ok().filter(|batch| !batch.is_empty())?;
        for found in batch {
            let Found::Records { run, .. } = found else { continue };
            for (index, record) in run.records().enumerate() {
                if record.is_numbered && record.sequence == sequence {
                    return Some(run.share(index));
                }
                if record.sequence > sequence {
                    return None;
                }
            }
        }
    }
}

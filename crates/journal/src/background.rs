//! The background thread: once a second it syncs files, closes idle ones, and enforces retention.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs::File, io};

use crate::journal::{Shared, now_ms, sync_directory};
use crate::stream::Stream;

/// The time between two rounds of the thread.
const ROUND: Duration = Duration::from_secs(1);
/// After this many rounds without an append, a stream's file is closed, so that idle streams hold no file
/// descriptors.
const IDLE_ROUNDS: u8 = 5;

/// A handle of the background thread.
#[derive(Debug)]
pub(crate) struct Background {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signal {
    is_stopped: Mutex<bool>,
    changed: Condvar,
}

impl Background {
    pub(crate) fn start(shared: Arc<Shared>) -> io::Result<Self> {
        let signal = Arc::new(Signal::default());
        let thread = {
            let signal = Arc::clone(&signal);
            std::thread::Builder::new().name("journal".into()).spawn(move || {
                while !signal.wait() {
                    shared.sync_and_retain();
                }
                // For the entries that were appended since the last round.
                shared.sync_and_retain();
            })?
        };
        Ok(Self { signal, thread: Some(thread) })
    }

    /// Stops the thread after a last sync, and waits for its end.
    pub(crate) fn stop(&mut self) {
        *self.signal.is_stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.signal.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported by the panic handler.
            let _ = thread.join();
        }
    }
}

impl Signal {
    /// Waits until the next round is due. True if the thread has to stop instead.
    fn wait(&self) -> bool {
        let stopped = self.is_stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(stopped, ROUND, |is_stopped| !*is_stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Shared {
    pub(crate) fn sync_and_retain(&self) {
        let started_at_ms = now_ms();
        let mut is_synced = true;
        let mut is_any_new = false;
        for stream in self.all() {
            match self.sync_stream(&stream) {
                Ok(is_new) => is_any_new |= is_new,
                Err(error) => {
                    is_synced = false;
                    self.counters.count_error();
                    tracing::warn!(stream = %stream.id.name, %error, "a stream of the journal could not be synced");
                }
            }
        }
        if is_any_new && let Err(error) = sync_directory(self.streams_directory()) {
            is_synced = false;
            self.counters.count_error();
            tracing::warn!(%error, "the directory of the journal could not be synced");
        }
        if is_synced {
            self.counters.last_sync_at_ms.store(started_at_ms, Ordering::Relaxed);
        }
        self.retain(started_at_ms);
    }

    /// Writes the stream's unsynced files to the disk. True if the stream's own directory may be new, so that its
    /// parent has to be synced too.
    fn sync_stream(&self, stream: &Stream) -> io::Result<bool> {
        let (files, is_directory_dirty) = {
            let mut state = stream.lock();
            let mut files: Vec<Arc<File>> = std::mem::take(&mut state.unsynced);
            if state.is_dirty {
                files.extend(state.file.clone());
            }
            let is_directory_dirty = std::mem::take(&mut state.is_directory_dirty);
            state.is_dirty = false;
            state.idle_rounds = state.idle_rounds.saturating_add(1);
            if state.idle_rounds > IDLE_ROUNDS {
                state.file = None;
            }
            (files, is_directory_dirty)
        };
        let result = files.iter().try_for_each(|file| file.sync_data());
        let result = match is_directory_dirty {
            true => result.and(sync_directory(&self.directory_of(&stream.id))),
            false => result,
        };
        result.inspect_err(|_| {
            let mut state = stream.lock();
            state.unsynced.extend(files);
            state.is_directory_dirty |= is_directory_dirty;
        })?;
        Ok(is_directory_dirty)
    }
}

//! The background thread: once a second it syncs files, closes idle ones, and enforces retention.

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::catalogue::{Catalogue, StreamRow};
use crate::journal::{Shared, now_ms, sync_directory};
use crate::stream::{State, Stream, StreamId};

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

/// The catalogue and what the background thread has to write to it.
#[derive(Debug)]
pub(crate) struct CatalogueState {
    /// `None` if the catalogue could not be opened.
    catalogue: Option<Catalogue>,
    /// Removed streams that the catalogue still has.
    removed: Vec<StreamId>,
    /// True if the last round failed. The first failure in a row was logged.
    is_failing: bool,
}

impl CatalogueState {
    pub(crate) fn new(catalogue: Option<Catalogue>, is_held: impl Fn(&StreamId) -> bool) -> Self {
        let known = catalogue.as_ref().and_then(|catalogue| catalogue.streams().ok()).unwrap_or_default();
        let removed = known.into_iter().filter(|id| !is_held(id)).collect();
        Self { catalogue, removed, is_failing: false }
    }

    /// Logs a failure, unless the previous round failed too.
    fn report(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => self.is_failing = false,
            Err(_) if self.is_failing => {}
            Err(error) => {
                self.is_failing = true;
                tracing::warn!(%error, "the journal could not be synced");
            }
        }
    }
}

impl Shared {
    pub(crate) fn sync_and_retain(&self) {
        let mut catalogue_state = self.catalogue_state.lock().unwrap_or_else(PoisonError::into_inner);
        self.retain(now_ms());
        let started_at_ms = now_ms();
        let (mut rows, mut result, mut is_any_new) = (Vec::new(), Ok(()), false);
        for stream in self.all() {
            let (work, row) = {
                let mut state = stream.lock();
                (take_work(&mut state), state.take_row(&stream.id))
            };
            is_any_new |= work.is_directory_dirty;
            match self.sync_stream(&stream, work) {
                // The catalogue gets only what is on the disk.
                Ok(()) => rows.extend(row.map(|row| (row, stream))),
                Err(error) => {
                    stream.lock().forget_catalogued();
                    result = Err(error);
                }
            }
        }
        if is_any_new {
            result = result.and(sync_directory(self.streams_directory()));
        }
        if result.is_ok() {
            self.counters.last_sync_at_ms.store(started_at_ms, Ordering::Relaxed);
        } else {
            self.counters.count_error();
        }
        let written = self.write_catalogue(&mut catalogue_state, rows);
        catalogue_state.report(result.map_err(|error| error.to_string()).and(written));
    }

    /// Syncs one stream's files to the disk. Those that fail are synced again in the next round.
    fn sync_stream(&self, stream: &Stream, work: Work) -> io::Result<()> {
        let result = work.files.iter().try_for_each(|file| file.sync_data());
        let result = match work.is_directory_dirty {
            true => result.and(sync_directory(&self.directory_of(&stream.id))),
            false => result,
        };
        result.inspect_err(|_| {
            let mut state = stream.lock();
            state.unsynced.extend(work.files);
            state.is_directory_dirty |= work.is_directory_dirty;
        })
    }

    fn write_catalogue(
        &self,
        catalogue_state: &mut CatalogueState,
        rows: Vec<(StreamRow, Arc<Stream>)>,
    ) -> Result<(), String> {
        let mut removed = std::mem::take(&mut *self.removed.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(catalogue) = &mut catalogue_state.catalogue else { return Ok(()) };
        catalogue_state.removed.append(&mut removed);
        let (rows, streams): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        match catalogue.write(&rows, &catalogue_state.removed) {
            Ok(()) => {
                catalogue_state.removed.clear();
                Ok(())
            }
            Err(error) => {
                for stream in streams {
                    stream.lock().forget_catalogued();
                }
                Err(error.to_string())
            }
        }
    }
}

/// The files of a stream that have to be synced.
struct Work {
    files: Vec<Arc<File>>,
    is_directory_dirty: bool,
}

fn take_work(state: &mut State) -> Work {
    let mut files = std::mem::take(&mut state.unsynced);
    if std::mem::take(&mut state.is_dirty) {
        files.extend(state.file.clone());
    }
    state.idle_rounds = state.idle_rounds.saturating_add(1);
    if state.idle_rounds > IDLE_ROUNDS {
        state.file = None;
    }
    Work { files, is_directory_dirty: std::mem::take(&mut state.is_directory_dirty) }
}

//! The background thread: once a second it syncs files, closes idle ones, and enforces retention.

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::catalogue::{Catalogue, StreamRow};
use crate::journal::{Shared, now_ms, sync_directory};
use crate::stream::{Stream, StreamId};

/// The time between two rounds of the thread.
const ROUND: Duration = Duration::from_secs(1);
/// After this many rounds without an append, a stream's file is closed, so that idle streams hold no file
/// descriptors.
const IDLE_ROUNDS: u8 = 5;

/// If a round has more files than this, it syncs the whole file system with one call instead of each file. With
/// hundreds of instances, syncing each file would take seconds.
const MANY_FILES: usize = 16;

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
        let mut work: Vec<_> = self.all().into_iter().filter_map(Work::of).collect();
        let files: usize =
            work.iter().map(|work| work.files.len() + usize::from(work.closed.is_some())).sum();
        let mut result = Ok(());
        if files > MANY_FILES && self.sync_file_system() {
            for work in &mut work {
                work.files.clear();
                work.closed = None;
                work.is_directory_dirty = false;
            }
        } else if work.iter().any(|work| work.is_directory_dirty) {
            result = sync_directory(self.streams_directory());
        }
        let mut rows = Vec::new();
        for work in work {
            match self.sync_stream(&work) {
                // The catalogue gets only what is on the disk.
                Ok(()) => rows.extend(work.row.map(|row| (row, work.stream))),
                Err(error) => {
                    work.put_back();
                    result = Err(error);
                }
            }
        }
        if result.is_ok() {
            self.counters.last_sync_at_ms.store(started_at_ms, Ordering::Relaxed);
        } else {
            self.counters.count_error();
        }
        let written = self.write_catalogue(&mut catalogue_state, rows);
        catalogue_state.report(result.map_err(|error| error.to_string()).and(written));
    }

    /// Syncs the whole file system. False if this system cannot do that, or if it failed.
    fn sync_file_system(&self) -> bool {
        #[cfg(target_os = "linux")]
        return File::open(self.streams_directory())
            .is_ok_and(|directory| rustix::fs::syncfs(directory).is_ok());
        #[cfg(not(target_os = "linux"))]
        false
    }

    fn sync_stream(&self, work: &Work) -> io::Result<()> {
        work.files.iter().try_for_each(|file| file.sync_data())?;
        let closed = work.closed.map(|number| self.segment_path(&work.stream.id, number));
        let directory = work.is_directory_dirty.then(|| self.directory_of(&work.stream.id));
        for path in closed.into_iter().chain(directory) {
            match File::open(path).and_then(|file| file.sync_all()) {
                // The file is missing because retention or the owner of the stream has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(())
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

/// The work of one round for one stream.
struct Work {
    stream: Arc<Stream>,
    files: Vec<Arc<File>>,
    /// The number of a segment that was closed before it was synced.
    closed: Option<u64>,
    is_directory_dirty: bool,
    row: Option<StreamRow>,
}

impl Work {
    /// Takes the work from the stream's state, which from then on counts it as done. `None` if there is none.
    fn of(stream: Arc<Stream>) -> Option<Self> {
        let mut state = stream.lock();
        let mut files = std::mem::take(&mut state.unsynced);
        let mut closed = None;
        if std::mem::take(&mut state.is_dirty) {
            match &state.file {
                Some(file) => files.push(Arc::clone(file)),
                None => closed = state.segments.last().map(|segment| segment.number),
            }
        }
        state.idle_rounds = state.idle_rounds.saturating_add(1);
        if state.idle_rounds > IDLE_ROUNDS {
            state.file = None;
        }
        let is_directory_dirty = std::mem::take(&mut state.is_directory_dirty);
        let row = state.take_row(&stream.id);
        drop(state);
        let is_any = !files.is_empty() || closed.is_some() || is_directory_dirty || row.is_some();
        is_any.then_some(Self { stream, files, closed, is_directory_dirty, row })
    }

    /// Puts the work back after a failure, so that the next round tries it again.
    fn put_back(self) {
        let mut state = self.stream.lock();
        for file in self.files {
            if state.file.as_ref().is_some_and(|present| Arc::ptr_eq(present, &file)) {
                state.is_dirty = true;
            } else {
                state.unsynced.push(file);
            }
        }
        state.is_dirty |= self.closed.is_some();
        state.is_directory_dirty |= self.is_directory_dirty;
        state.forget_catalogued();
    }
}

#[cfg(test)]
#[path = "background_tests.rs"]
mod tests;

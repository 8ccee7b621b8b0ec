//! The journal: all streams of one directory.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use event_log::MemoryAccount;

use crate::background::{Background, CatalogueState};
use crate::chunks::read_checkpoint;
use crate::error::{OpenError, SetAside};
use crate::format::MAX_LABEL;
use crate::options::{Options, SyncMode};
use crate::reader::StreamReader;
use crate::recover::{lock_directory, recover};
use crate::resume::{Replay, Resumed};
use crate::segment::{file_name, is_name, stream_directory};
use crate::stats::{Counters, JournalStats};
use crate::stream::{Stream, StreamId, StreamInfo};
use crate::writer::StreamWriter;

/// The journal of one directory. Cloning is cheap, since all clones share the streams. The directory stays locked
/// for as long as a clone, a writer or a reader exists.
#[derive(Debug, Clone)]
pub struct Journal(Arc<Handle>);

/// What all clones of a [`Journal`] share. Dropping the last one stops the background thread.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    background: Background,
}

/// What the journal, its writers and readers and the background thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    streams_directory: PathBuf,
    /// The streams, keyed by id. The lock is held only briefly, and never during disk access. It must not be taken
    /// while a stream is locked.
    streams: Mutex<BTreeMap<StreamId, Arc<Stream>>>,
    /// How many bytes all segments occupy on the disk.
    pub(crate) bytes: AtomicU64,
    pub(crate) counters: Counters,
    /// The catalogue. Only the background thread writes it.
    pub(crate) catalogue_state: Mutex<CatalogueState>,
    /// Removed streams whose rows must be deleted from the catalogue.
    pub(crate) removed: Mutex<Vec<StreamId>>,
    _lock: File,
}

/// The result of [`Journal::open`].
#[derive(Debug)]
pub struct Opened {
    /// The journal.
    pub journal: Journal,
    /// The journal's streams, newest first.
    pub streams: Vec<StreamInfo>,
    /// The damaged files that were found.
    pub set_aside: Vec<SetAside>,
}

impl Journal {
    /// Opens a journal, or creates one, and starts the thread that calls [`Journal::sync_and_retain`].
    ///
    /// # Errors
    /// [`OpenError`]. In this case nothing was changed, except that the directory may have been created.
    pub fn open(options: Options) -> Result<Opened, OpenError> {
        let lock = lock_directory(&options.directory)?;
        let streams_directory = options.directory.join("streams");
        let recovered = recover(&options.directory, &streams_directory)?;
        let streams: BTreeMap<_, _> =
            recovered.streams.into_iter().map(|stream| (stream.id.clone(), Arc::new(stream))).collect();
        let catalogue_state = CatalogueState::new(recovered.catalogue, |id| streams.contains_key(id));
        let bytes = streams.values().map(|stream| stream.on_disk()).sum();
        let shared = Arc::new(Shared {
            options,
            streams_directory,
            streams: Mutex::new(streams),
            bytes: AtomicU64::new(bytes),
            counters: Counters::default(),
            catalogue_state: Mutex::new(catalogue_state),
            removed: Mutex::default(),
            _lock: lock,
        });
        let background =
            Background::start(Arc::clone(&shared)).map_err(OpenError::io(&shared.options.directory))?;
        let journal = Self(Arc::new(Handle { shared, background }));
        Ok(Opened { streams: journal.streams(), journal, set_aside: recovered.set_aside })
    }

    /// Creates a stream. `label` is any data of the caller, at most 64 KiB, which [`StreamInfo`] returns.
    ///
    /// # Errors
    /// System errors; `AlreadyExists` if there is a stream with this id; `InvalidInput` if the name or the label is not
    /// allowed.
    pub fn create(&self, id: &StreamId, label: &[u8]) -> io::Result<StreamWriter> {
        if !is_name(&id.name) || label.len() > MAX_LABEL {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "invalid name or label of a stream"));
        }
        let stream = Arc::new(Stream::new(id.clone(), Bytes::copy_from_slice(label), Vec::new(), false));
        stream.lock().has_writer = true;
        {
            let mut streams = self.shared().streams();
            if streams.contains_key(id) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            streams.insert(id.clone(), Arc::clone(&stream));
        }
        let directory = stream_directory(self.streams_directory(), id);
        let result = create_directory(&directory).and_then(|()| {
            if self.sync_mode() == SyncMode::Full {
                sync_directory(self.streams_directory())?;
            }
            let mut writer = StreamWriter::new(self.clone(), stream);
            writer.start(None)?;
            Ok(writer)
        });
        result.inspect_err(|_| {
            self.counters().count_error();
            self.shared().forget(id);
            let _ = std::fs::remove_dir(&directory);
        })
    }

    /// Continues a stream that has no writer and was not closed. The entries that its replay reads are charged to
    /// `account`.
    ///
    /// # Errors
    /// System errors; `NotFound`; `ResourceBusy` if the stream has a writer; `InvalidInput` if it was closed.
    pub fn resume(&self, id: &StreamId, account: &Arc<MemoryAccount>) -> io::Result<Resumed> {
        let stream = self.get(id)?;
        let segments: VecDeque<_> = {
            let mut state = stream.lock();
            if state.is_removed {
                return Err(io::ErrorKind::NotFound.into());
            }
            if state.has_writer {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            if state.is_closed {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "the stream was closed"));
            }
            state.has_writer = true;
            state.segments.iter().copied().collect()
        };
        let writer = StreamWriter::new(self.clone(), stream);
        let directory = stream_directory(self.streams_directory(), id);
        // Every segment but the first of a stream starts with a checkpoint.
        let checkpoint = match segments.back() {
            Some(newest) => {
                let file = File::open(directory.join(file_name(newest.number)))?;
                read_checkpoint(&file, u64::from(newest.start), newest.length)?
            }
            None => None,
        };
        let skipped = if checkpoint.is_some() { segments.len() - 1 } else { 0 };
        let segments = segments.into_iter().skip(skipped).collect();
        let replay = Replay::new(directory, segments, Arc::clone(account));
        Ok(Resumed { writer, checkpoint, replay })
    }

    /// All streams, with and without a writer, newest first.
    #[must_use]
    pub fn streams(&self) -> Vec<StreamInfo> {
        let mut all: Vec<_> = self.shared().all().iter().map(|stream| stream.info()).collect();
        all.sort_by(|a, b| {
            b.id.first_sequence.cmp(&a.id.first_sequence).then_with(|| b.id.name.cmp(&a.id.name))
        });
        all
    }

    /// One stream. `None` if there is no such stream.
    #[must_use]
    pub fn info(&self, id: &StreamId) -> Option<StreamInfo> {
        self.get(id).ok().map(|stream| stream.info())
    }

    /// The newest stream with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<StreamInfo> {
        let last = StreamId { name: name.into(), first_sequence: u64::MAX };
        let newest = {
            let streams = self.shared().streams();
            let (id, stream) = streams.range(..=last).next_back()?;
            (*id.name == *name).then(|| Arc::clone(stream))
        };
        newest.map(|stream| stream.info())
    }

    /// A reader of a stream, which starts at the oldest record.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn reader(&self, id: &StreamId) -> io::Result<StreamReader> {
        Ok(StreamReader::new(self.clone(), self.get(id)?))
    }

    /// Deletes a stream. Its writer's next append fails, and its readers see the end of the stream.
    ///
    /// # Errors
    /// System errors; `NotFound`. After a system error the stream is gone nevertheless, but files that could not be
    /// deleted are found again when the journal is next opened.
    pub fn remove(&self, id: &StreamId) -> io::Result<()> {
        let stream = self.shared().forget(id).ok_or(io::ErrorKind::NotFound)?;
        let bytes = {
            let mut state = stream.lock();
            state.is_removed = true;
            state.file = None;
            state.segments.drain(..).map(|segment| segment.on_disk()).sum()
        };
        self.shared().bytes.fetch_sub(bytes, Ordering::Relaxed);
        std::fs::remove_dir_all(stream_directory(self.streams_directory(), id))
    }

    /// The journal's statistics.
    #[must_use]
    pub fn stats(&self) -> JournalStats {
        self.shared().stats()
    }

    /// Syncs everything that was appended to the disk, and deletes segments that exceed the limits on age and size.
    /// The journal's own thread does this once a second; call this to have it done now.
    pub fn sync_and_retain(&self) {
        self.shared().sync_and_retain();
    }

    fn get(&self, id: &StreamId) -> io::Result<Arc<Stream>> {
        self.shared().streams().get(id).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared().options
    }

    /// How durable an append is.
    #[must_use]
    pub fn sync_mode(&self) -> SyncMode {
        self.shared().options.sync
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.shared().counters
    }

    pub(crate) fn streams_directory(&self) -> &Path {
        &self.shared().streams_directory
    }

    pub(crate) fn segment_path(&self, id: &StreamId, number: u64) -> PathBuf {
        self.shared().segment_path(id, number)
    }

    pub(crate) fn grow(&self, bytes: u64) {
        if bytes > 0 {
            self.shared().bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl Shared {
    fn streams(&self) -> MutexGuard<'_, BTreeMap<StreamId, Arc<Stream>>> {
        // No code panics while it changes the table, so a poisoned lock is safe to use.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Stream>> {
        self.streams().values().cloned().collect()
    }

    pub(crate) fn streams_directory(&self) -> &Path {
        &self.streams_directory
    }

    pub(crate) fn directory_of(&self, id: &StreamId) -> PathBuf {
        stream_directory(&self.streams_directory, id)
    }

    pub(crate) fn segment_path(&self, id: &StreamId, number: u64) -> PathBuf {
        self.directory_of(id).join(file_name(number))
    }

    /// Removes a stream from the table.
    pub(crate) fn forget(&self, id: &StreamId) -> Option<Arc<Stream>> {
        let stream = self.streams().remove(id)?;
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).push(id.clone());
        Some(stream)
    }

    fn stats(&self) -> JournalStats {
        let mut stats = JournalStats {
            bytes: self.bytes.load(Ordering::Relaxed),
            last_sync_at_ms: self.counters.last_sync_at_ms.load(Ordering::Relaxed),
            write_errors: self.counters.write_errors.load(Ordering::Relaxed),
            ..JournalStats::default()
        };
        for stream in self.all() {
            stats.memory_bytes += stream.memory() as u64;
            let state = stream.lock();
            stats.streams += 1;
            stats.open_streams += u64::from(state.has_writer);
            stats.segments += state.segments.len() as u64;
            stats.open_files += u64::from(state.file.is_some());
        }
        stats
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.background.stop();
    }
}

/// Creates a directory that only this user can access.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Syncs a directory, so that the names of new files in it are on the disk.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The current time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

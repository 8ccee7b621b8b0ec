//! Watching for changes, with bounded memory: what does not fit is told as one overflow, never silently lost.
//!
//! The system's notifications are collected by the `notify` crate on a thread of its own, which never waits for the
//! reader. A new directory is looked through once more after its watch is set, because files that were made in it
//! before that are told by nobody. The system takes watches by path: below a confined root the path is resolved inside
//! the root first, links are not followed into, and the directory is checked once more after the watch is set.

mod coalesce;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use notify::{Config, ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use rustix::io::Errno;

use crate::entries::{Depth, EntriesRequest};
use crate::error::{At, Error, Result};
use crate::metadata::EntryType;
use crate::path::UserPath;
use crate::root::Located;
use crate::service::FileService;
use crate::sys::{self, Identity};
use coalesce::Coalescer;

/// Entries of one new directory that are looked through; more are told as an overflow.
const NEW_DIRECTORY_ENTRIES: usize = 10_000;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// An entry is there that was not.
    Created(PathBuf),
    /// Contents or attributes are different.
    Changed(PathBuf),
    /// An entry is gone.
    Removed(PathBuf),
    /// An entry has another name.
    Renamed {
        /// The name it had.
        from: PathBuf,
        /// The name it has.
        to: PathBuf,
    },
    /// Changes were lost: look at everything again.
    Overflow,
}

/// What to watch.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The directory's own entries, or everything below.
    pub depth: Depth,
    /// How many notifications wait for their reader at most.
    pub capacity: usize,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { depth: Depth::Recursive, capacity: 4096 }
    }
}

/// A running watch; dropping it ends it.
#[derive(Debug)]
pub struct Watcher {
    /// Held for its thread.
    _system: RecommendedWatcher,
    events: Receiver<notify::Event>,
    overflowed: Arc<AtomicBool>,
    coalescer: Coalescer,
    service: FileService,
}

impl FileService {
    /// Watches a directory or a file, through a link if the path is one.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::PermissionDenied`], [`Error::WatchLimit`].
    pub fn watch(&self, path: &UserPath, options: &WatchOptions) -> Result<Watcher> {
        let located = self.tree().locate(path)?;
        let watched = self.watchable(&located)?;
        let real = self.tree().canonical_path(&located)?;
        let overflowed = Arc::new(AtomicBool::new(false));
        let (sender, events) = sync_channel(options.capacity.max(1));
        let handler = forward(sender, Arc::clone(&overflowed));
        let config = Config::default().with_follow_symlinks(false);
        let failed = |error: notify::Error| explain(error, &located.shown);
        let mut system = RecommendedWatcher::new(handler, config).map_err(failed)?;
        let mode = match options.depth {
            Depth::Children => RecursiveMode::NonRecursive,
            Depth::Recursive => RecursiveMode::Recursive,
        };
        system.watch(&real, mode).map_err(failed)?;
        // What was resolved must still be what the path names, or a link swapped in meanwhile would be watched.
        if self.watchable(&located)? != watched || self.tree().canonical_path(&located)? != real {
            return Err(Error::Changed { path: located.shown });
        }
        let coalescer = Coalescer::new(real, located.shown, options.depth);
        Ok(Watcher { _system: system, events, overflowed, coalescer, service: self.clone() })
    }
}

impl FileService {
    /// Which entry a path leads to, if it is one that can be watched.
    fn watchable(&self, located: &Located) -> Result<Identity> {
        let stat = match self.tree().open_directory(&located.inner) {
            Ok(directory) => sys::stat_handle(directory).at(&located.shown)?,
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOTDIR) => {
                self.tree().place_followed(located)?.stat()?
            }
            Err(error) => return Err(Error::at(&located.shown, error)),
        };
        match stat.entry_type() {
            EntryType::File | EntryType::Directory => Ok(stat.identity()),
            EntryType::Symlink => Err(Error::Changed { path: located.shown.clone() }),
            EntryType::Other => Err(Error::WrongKind {
                path: located.shown.clone(),
                found: EntryType::Other.described(),
                needed: "a file or a directory",
            }),
        }
    }
}

impl Watcher {
    /// The next change, waiting for it at most so long.
    pub fn next(&mut self, timeout: Duration) -> Option<Change> {
        let deadline = Instant::now() + timeout;
        loop {
            if self.overflowed.swap(false, Ordering::AcqRel) {
                return Some(Change::Overflow);
            }
            if let Some(change) = self.coalescer.next_ready(Instant::now()) {
                return Some(change);
            }
            if let Some(directory) = self.coalescer.next_new_directory(Instant::now()) {
                self.look_through(&directory);
                self.coalescer.looked_through();
                continue;
            }
            let wake = self.coalescer.wakes_at().map_or(deadline, |wake| wake.min(deadline));
            match self.events.recv_timeout(wake.saturating_duration_since(Instant::now())) {
                Ok(event) => self.coalescer.take(event, Instant::now()),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if Instant::now() >= deadline {
                        return None;
                    }
                }
            }
        }
    }

    /// Tells what is in a new directory already.
    fn look_through(&mut self, directory: &Path) {
        let Ok(path) = UserPath::parse(directory) else { return };
        let limit = std::num::NonZeroUsize::new(NEW_DIRECTORY_ENTRIES);
        let request = EntriesRequest { depth: Depth::Recursive, limit, after: None };
        // Gone again, or no directory any more: other notifications tell that.
        let Ok(page) = self.service.entries(&path, &request) else { return };
        for entry in page.entries {
            self.coalescer.found(entry.path);
        }
        if page.next.is_some() {
            self.overflowed.store(true, Ordering::Release);
        }
    }
}

/// Runs on the thread of the system's notifications, so it never waits.
fn forward(
    sender: SyncSender<notify::Event>,
    overflowed: Arc<AtomicBool>,
) -> impl FnMut(notify::Result<notify::Event>) + Send + 'static {
    move |event| match event {
        Ok(event) if event.need_rescan() => overflowed.store(true, Ordering::Release),
        // Opening, reading and closing change nothing.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) => {
            if let Err(TrySendError::Full(_)) = sender.try_send(event) {
                overflowed.store(true, Ordering::Release);
            }
        }
        // Among others: no more watches for new directories.
        Err(_) => overflowed.store(true, Ordering::Release),
    }
}

fn explain(error: notify::Error, shown: &Path) -> Error {
    let path = shown.to_path_buf();
    match error.kind {
        ErrorKind::MaxFilesWatch => Error::WatchLimit { path },
        ErrorKind::PathNotFound => Error::NotFound { path },
        ErrorKind::Io(source) => Error::at(shown, source),
        other => Error::Io { path, source: std::io::Error::other(notify::Error::new(other)) },
    }
}

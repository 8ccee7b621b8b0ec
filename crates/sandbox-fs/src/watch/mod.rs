//! Watches for changes with bounded memory: changes that do not fit are reported as one overflow, never lost
//! silently.
//!
//! The system's notifications are collected by a separate thread, which never waits for the reader. A new
//! directory is scanned after its watch is set, because files that were created in it before that cause no
//! notification. Links are not followed: on Linux, a watch is set on an open directory; elsewhere, on a path
//! that is resolved inside the root and checked again after the watch is set.

mod coalesce;
#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use notify::EventKind;
use notify::event::ModifyKind;
use rustix::io::Errno;

use crate::entries::{Depth, EntriesRequest};
use crate::error::{At, Error, Result};
use crate::metadata::EntryType;
use crate::path::UserPath;
use crate::root::Located;
use crate::service::FileService;
use crate::sys::{self, Identity};
use coalesce::{Coalescer, is_temporary};
#[cfg(target_os = "linux")]
use inotify::SystemWatcher;
#[cfg(not(target_os = "linux"))]
use portable::SystemWatcher;

/// The maximum number of entries to scan in a new directory; more are reported as an overflow.
const NEW_DIRECTORY_ENTRIES: usize = 10_000;

/// A change of a watched entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// An entry was created.
    Created(PathBuf),
    /// Contents or attributes were changed.
    Changed(PathBuf),
    /// An entry was removed.
    Removed(PathBuf),
    /// An entry was renamed.
    Renamed {
        /// The old path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
    },
    /// Changes were lost: read everything again.
    Overflow,
}

/// The options of a watch.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The directory's own entries, or the whole tree.
    pub depth: Depth,
    /// The maximum number of notifications that wait for the reader.
    pub capacity: usize,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { depth: Depth::Recursive, capacity: 4096 }
    }
}

/// A running watch, which ends when this value is dropped.
#[derive(Debug)]
pub struct Watcher {
    /// Keeps the notification thread running.
    _system: SystemWatcher,
    events: Receiver<notify::Event>,
    overflowed: Arc<AtomicBool>,
    coalescer: Coalescer,
    service: FileService,
}

impl FileService {
    /// Watches a directory or a file. A final link is followed.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::PermissionDenied`], [`Error::WatchLimit`].
    pub fn watch(&self, path: &UserPath, options: &WatchOptions) -> Result<Watcher> {
        let located = self.tree().locate(path)?;
        let (top, identity) = self.open_watchable(&located)?;
        let real = self.tree().canonical_path(&located)?;
        let overflowed = Arc::new(AtomicBool::new(false));
        let (sender, events) = sync_channel(options.capacity.max(1));
        let handler = forward(sender, Arc::clone(&overflowed));
        let (shown, depth) = (located.shown.clone(), options.depth);
        let system = SystemWatcher::start(Watched { top, shown, real: real.clone(), depth }, handler)?;
        // If a path had to be used for the watch, it must still lead to the opened entry: a link may have
        // replaced it.
        if self.open_watchable(&located)?.1 != identity || self.tree().canonical_path(&located)? != real {
            return Err(Error::Changed { path: located.shown });
        }
        let coalescer = Coalescer::new(depth);
        Ok(Watcher { _system: system, events, overflowed, coalescer, service: self.clone() })
    }

    /// Opens the entry that a path leads to, if it can be watched.
    fn open_watchable(&self, located: &Located) -> Result<(OwnedFd, Identity)> {
        let (opened, stat) = match self.tree().open_directory(&located.inner) {
            Ok(directory) => {
                let stat = sys::stat_handle(&directory).at(&located.shown)?;
                (directory, stat)
            }
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOTDIR) => {
                let place = self.tree().place_followed(located)?;
                let file = sys::open_handle(&place.directory, &place.name).at(&located.shown)?;
                let stat = sys::stat_handle(&file).at(&located.shown)?;
                (file, stat)
            }
            Err(error) => return Err(Error::at(&located.shown, error)),
        };
        match stat.entry_type() {
            EntryType::File | EntryType::Directory => Ok((opened, stat.identity())),
            EntryType::Symlink => Err(Error::Changed { path: located.shown.clone() }),
            EntryType::Other => Err(Error::WrongKind {
                path: located.shown.clone(),
                found: EntryType::Other.described(),
                needed: "a file or a directory",
            }),
        }
    }
}

/// The file or directory that the system watches.
#[derive(Debug)]
struct Watched {
    /// The directory or file, open.
    top: OwnedFd,
    /// The path, as shown to the user.
    shown: PathBuf,
    /// The real path, for systems that cannot watch by handle.
    real: PathBuf,
    depth: Depth,
}

impl Watcher {
    /// Waits for the next change, at most for `timeout`.
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
                self.scan_new_directory(&directory);
                self.coalescer.scanned_directory();
                continue;
            }
            let wake = self.coalescer.next_deadline().map_or(deadline, |wake| wake.min(deadline));
            match self.events.recv_timeout(wake.saturating_duration_since(Instant::now())) {
                Ok(event) => self.coalescer.handle(event, Instant::now()),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if Instant::now() >= deadline {
                        return None;
                    }
                }
            }
        }
    }

    /// Reports the entries that already exist in a new directory.
    fn scan_new_directory(&mut self, directory: &Path) {
        let Ok(path) = UserPath::parse(directory) else { return };
        let limit = std::num::NonZeroUsize::new(NEW_DIRECTORY_ENTRIES);
        let request = EntriesRequest { depth: Depth::Recursive, limit, after: None };
        // The directory was removed or replaced; other notifications report that.
        let Ok(page) = self.service.entries(&path, &request) else { return };
        for entry in page.entries {
            self.coalescer.report_found(entry.path);
        }
        if page.next.is_some() {
            self.overflowed.store(true, Ordering::Release);
        }
    }
}

/// Returns the callback that receives notifications. It runs on the notification thread, so it must not wait.
fn forward(
    sender: SyncSender<notify::Event>,
    overflowed: Arc<AtomicBool>,
) -> impl FnMut(notify::Result<notify::Event>) + Send + 'static {
    move |event| match event {
        Ok(event) if event.need_rescan() => overflowed.store(true, Ordering::Release),
        // Opening, reading and closing are not changes.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        // Changes inside the staging folder of an archive must not fill the queue. Renames out of that folder
        // are needed.
        Ok(event)
            if !matches!(event.kind, EventKind::Modify(ModifyKind::Name(_)))
                && event.paths.iter().all(|path| is_temporary(path)) => {}
        Ok(event) => {
            if let Err(TrySendError::Full(_)) = sender.try_send(event) {
                overflowed.store(true, Ordering::Release);
            }
        }
        // For example, the system has no watch left for a new directory.
        Err(_) => overflowed.store(true, Ordering::Release),
    }
}

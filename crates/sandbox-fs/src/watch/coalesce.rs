//! Turns the system's notifications into changes. The two halves of a rename become one change; a half
//! without its counterpart is a creation or a removal. The temporary names of uploads are not reported, only
//! the final names. This module does no I/O; the caller passes the time.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use notify::event::{CreateKind, ModifyKind, RenameMode};
use notify::{Event, EventKind};

use super::Change;
use crate::entries::Depth;
use crate::sys;

/// How long the first half of a rename waits for the second.
const RENAME_WAIT: Duration = Duration::from_millis(100);
/// How long after its creation a new directory is scanned. By then the directory has a watch of its own.
const NEW_DIRECTORY_WAIT: Duration = Duration::from_millis(100);
/// The maximum number of new directories that wait to be scanned; beyond that, an overflow is reported.
const NEW_DIRECTORIES: usize = 1024;
/// The maximum number of remembered reported names; beyond that, some may be reported twice.
const REMEMBERED: usize = 65_536;

#[derive(Debug)]
pub(super) struct Coalescer {
    depth: Depth,
    ready: VecDeque<Change>,
    pending_rename: Option<PendingRename>,
    new_directories: VecDeque<(Instant, PathBuf)>,
    /// The creations reported since the first of `new_directories` was added, so that they are not reported again.
    reported: HashSet<PathBuf>,
}

#[derive(Debug)]
struct PendingRename {
    tracker: usize,
    path: PathBuf,
    until: Instant,
}

impl Coalescer {
    pub(super) fn new(depth: Depth) -> Self {
        Self {
            depth,
            ready: VecDeque::new(),
            pending_rename: None,
            new_directories: VecDeque::new(),
            reported: HashSet::new(),
        }
    }

    /// The next complete change.
    pub(super) fn next_ready(&mut self, now: Instant) -> Option<Change> {
        if self.pending_rename.as_ref().is_some_and(|pending_rename| pending_rename.until <= now) {
            self.settle_pending_rename();
        }
        self.ready.pop_front()
    }

    /// A new directory that is due to be scanned.
    pub(super) fn next_new_directory(&mut self, now: Instant) -> Option<PathBuf> {
        self.new_directories.pop_front_if(|(due, _)| *due <= now).map(|(_, directory)| directory)
    }

    /// When to call again even if no notification arrives.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let pending_rename = self.pending_rename.as_ref().map(|pending_rename| pending_rename.until);
        let directory = self.new_directories.front().map(|(due, _)| *due);
        pending_rename.into_iter().chain(directory).min()
    }

    /// Reports an entry that was found in a new directory.
    pub(super) fn report_found(&mut self, path: PathBuf) {
        if self.reported.insert(path.clone()) {
            self.report(Change::Created(path));
        }
    }

    /// Called after a new directory was scanned.
    pub(super) fn scanned_directory(&mut self) {
        if self.new_directories.is_empty() || self.reported.len() > REMEMBERED {
            self.reported.clear();
        }
    }

    pub(super) fn handle(&mut self, event: Event, now: Instant) {
        let (kind, tracker) = (event.kind, event.tracker());
        let mut paths = event.paths.into_iter();
        let Some(path) = paths.next() else { return };
        match kind {
            EventKind::Create(kind) => self.created(path, kind, now),
            EventKind::Remove(_) => {
                self.reported.remove(&path);
                self.report(Change::Removed(path));
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                self.settle_pending_rename();
                match tracker {
                    Some(tracker) => {
                        self.pending_rename = Some(PendingRename { tracker, path, until: now + RENAME_WAIT });
                    }
                    // The watched entry itself was moved.
                    None => self.report(Change::Removed(path)),
                }
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
                // If the first half is known, an event with both names follows, and this half needs no
                // report.
                if self.pending_rename.as_ref().map(|pending_rename| pending_rename.tracker) != tracker
                    || tracker.is_none()
                {
                    self.settle_pending_rename();
                    self.created(path, CreateKind::Any, now);
                }
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
                self.pending_rename = None;
                self.reported.remove(&path);
                let Some(to) = paths.next() else { return };
                match (is_temporary(&path), is_temporary(&to)) {
                    (false, false) => self.report(Change::Renamed { from: path, to }),
                    // A rename of a temporary name means that an upload or an archive is now in place.
                    (true, false) => self.created(to, CreateKind::Any, now),
                    (false, true) => self.report(Change::Removed(path)),
                    (true, true) => {}
                }
            }
            EventKind::Modify(_) | EventKind::Any | EventKind::Other => {
                let change = Change::Changed(path);
                // A long write causes many notifications; consecutive ones are one change.
                if self.ready.back() != Some(&change) {
                    self.report(change);
                }
            }
            EventKind::Access(_) => {}
        }
    }

    fn report(&mut self, change: Change) {
        let is_hidden = match &change {
            Change::Created(path) | Change::Changed(path) | Change::Removed(path) => is_temporary(path),
            Change::Renamed { .. } | Change::Overflow => false,
        };
        if !is_hidden {
            self.ready.push_back(change);
        }
    }

    fn created(&mut self, path: PathBuf, kind: CreateKind, now: Instant) {
        if is_temporary(&path) {
            return;
        }
        let may_be_directory = matches!(kind, CreateKind::Folder | CreateKind::Any);
        if self.depth == Depth::Recursive && may_be_directory {
            if self.new_directories.len() < NEW_DIRECTORIES {
                self.new_directories.push_back((now + NEW_DIRECTORY_WAIT, path.clone()));
            } else {
                self.report(Change::Overflow);
            }
        }
        // A scan of the directory may have reported it already.
        if self.new_directories.is_empty() || self.reported.insert(path.clone()) {
            self.report(Change::Created(path));
        }
    }

    fn settle_pending_rename(&mut self) {
        if let Some(pending_rename) = self.pending_rename.take() {
            self.reported.remove(&pending_rename.path);
            self.report(Change::Removed(pending_rename.path));
        }
    }
}

/// True for a temporary file or folder of an upload, and for everything in it.
pub(super) fn is_temporary(path: &Path) -> bool {
    path.iter().any(sys::is_temporary)
}

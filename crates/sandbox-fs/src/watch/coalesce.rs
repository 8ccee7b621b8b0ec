//! Turns the system's notifications into changes: the two halves of a rename become one, and a half without its other
//! is an arrival or a departure. Pure but for the clock it is given.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use notify::event::{CreateKind, ModifyKind, RenameMode};
use notify::{Event, EventKind};

use super::Change;
use crate::entries::Depth;

/// How long the first half of a rename waits for the second.
const RENAME_WAIT: Duration = Duration::from_millis(100);
/// How long after its creation a directory is looked through: its own watch is set by then.
const NEW_DIRECTORY_WAIT: Duration = Duration::from_millis(100);
/// New directories that wait at most; past that the changes in them are told as lost.
const NEW_DIRECTORIES: usize = 1024;
/// Names remembered as told; past that some may be told twice rather than memory grow.
const REMEMBERED: usize = 65_536;

#[derive(Debug)]
pub(super) struct Coalescer {
    /// The watched path as the system names it, and as the user does.
    real: PathBuf,
    shown: PathBuf,
    depth: Depth,
    ready: VecDeque<Change>,
    leaving: Option<Leaving>,
    new_directories: VecDeque<(Instant, PathBuf)>,
    /// What was told since the first of `new_directories` came, so that it is not told again.
    told: HashSet<PathBuf>,
}

#[derive(Debug)]
struct Leaving {
    tracker: usize,
    path: PathBuf,
    until: Instant,
}

impl Coalescer {
    pub(super) fn new(real: PathBuf, shown: PathBuf, depth: Depth) -> Self {
        Self {
            real,
            shown,
            depth,
            ready: VecDeque::new(),
            leaving: None,
            new_directories: VecDeque::new(),
            told: HashSet::new(),
        }
    }

    /// The next change that is known for certain.
    pub(super) fn next_ready(&mut self, now: Instant) -> Option<Change> {
        if self.leaving.as_ref().is_some_and(|leaving| leaving.until <= now) {
            self.settle_leaving();
        }
        self.ready.pop_front()
    }

    /// A new directory that may be looked through now.
    pub(super) fn next_new_directory(&mut self, now: Instant) -> Option<PathBuf> {
        self.new_directories.pop_front_if(|(due, _)| *due <= now).map(|(_, directory)| directory)
    }

    /// When to look again even if nothing comes.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        let leaving = self.leaving.as_ref().map(|leaving| leaving.until);
        let directory = self.new_directories.front().map(|(due, _)| *due);
        leaving.into_iter().chain(directory).min()
    }

    /// An entry was found in a new directory.
    pub(super) fn found(&mut self, path: PathBuf) {
        if self.told.insert(path.clone()) {
            self.ready.push_back(Change::Created(path));
        }
    }

    /// A new directory has been looked through.
    pub(super) fn looked_through(&mut self) {
        if self.new_directories.is_empty() || self.told.len() > REMEMBERED {
            self.told.clear();
        }
    }

    pub(super) fn take(&mut self, event: Event, now: Instant) {
        let tracker = event.tracker();
        let mut paths = event.paths.into_iter().map(|path| self.translate(&path)).collect::<VecDeque<_>>();
        let Some(path) = paths.pop_front() else { return };
        match event.kind {
            EventKind::Create(kind) => self.created(path, kind, now),
            EventKind::Remove(_) => {
                self.told.remove(&path);
                self.ready.push_back(Change::Removed(path));
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                self.settle_leaving();
                match tracker {
                    Some(tracker) => self.leaving = Some(Leaving { tracker, path, until: now + RENAME_WAIT }),
                    // The watched entry itself went elsewhere.
                    None => self.ready.push_back(Change::Removed(path)),
                }
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
                // With its first half known, the event that names both follows.
                if self.leaving.as_ref().map(|leaving| leaving.tracker) != tracker || tracker.is_none() {
                    self.settle_leaving();
                    self.created(path, CreateKind::Any, now);
                }
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
                self.leaving = None;
                self.told.remove(&path);
                if let Some(to) = paths.pop_front() {
                    self.ready.push_back(Change::Renamed { from: path, to });
                }
            }
            EventKind::Modify(_) | EventKind::Any | EventKind::Other => {
                let change = Change::Changed(path);
                // A long write is many notifications; those in a row are one change.
                if self.ready.back() != Some(&change) {
                    self.ready.push_back(change);
                }
            }
            EventKind::Access(_) => {}
        }
    }

    fn created(&mut self, path: PathBuf, kind: CreateKind, now: Instant) {
        let may_be_directory = matches!(kind, CreateKind::Folder | CreateKind::Any);
        if self.depth == Depth::Recursive && may_be_directory {
            if self.new_directories.len() < NEW_DIRECTORIES {
                self.new_directories.push_back((now + NEW_DIRECTORY_WAIT, path.clone()));
            } else {
                self.ready.push_back(Change::Overflow);
            }
        }
        // A look into its directory may have told it already.
        if self.new_directories.is_empty() || self.told.insert(path.clone()) {
            self.ready.push_back(Change::Created(path));
        }
    }

    fn settle_leaving(&mut self) {
        if let Some(leaving) = self.leaving.take() {
            self.told.remove(&leaving.path);
            self.ready.push_back(Change::Removed(leaving.path));
        }
    }

    fn translate(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.real) {
            Ok(below) => self.shown.join(below).components().collect(),
            Err(_) => path.to_path_buf(),
        }
    }
}

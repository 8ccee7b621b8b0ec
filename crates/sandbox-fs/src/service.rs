//! The service itself: the opened root, the locks, and the operations that are too small for a file of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{At, Error, Result};
use crate::locks::{LockKey, PathGuard, PathLocks};
use crate::metadata::{EntryType, Metadata};
use crate::path::{UserPath, split};
use crate::root::{Place, Root, Tree};
use crate::sys;

/// When bytes have to be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Whenever the system writes them, as `cp` and `tar` do. A crash of the server loses nothing; a power cut may lose
    /// a write that was answered within the last seconds. ext4 and btrfs order a replacing rename after its data.
    #[default]
    Cached,
    /// Before a write is answered.
    Synced,
}

/// What can be chosen when a service is opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// For uploaded files. A move between devices always syncs before it deletes.
    pub durability: Durability,
    /// Where an upload waits when its own directory cannot be written; the system's temporary directory by default.
    pub spool_directory: Option<PathBuf>,
}

/// Files below a root. Cheap to clone; clones share their locks, so there should be one per root.
#[derive(Debug, Clone)]
pub struct FileService {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    tree: Tree,
    locks: Arc<PathLocks>,
    options: Options,
}

impl FileService {
    /// Opens a root with default [`Options`].
    ///
    /// # Errors
    /// [`Error::NotFound`] or [`Error::WrongKind`] where root or workspace are no directories, [`Error::OutsideRoot`]
    /// where the workspace is not inside the root.
    pub fn open(root: &Root) -> Result<Self> {
        Self::open_with(root, Options::default())
    }

    /// Opens a root.
    ///
    /// # Errors
    /// As [`FileService::open`].
    pub fn open_with(root: &Root, options: Options) -> Result<Self> {
        let shared = Shared { tree: Tree::open(root)?, locks: Arc::new(PathLocks::default()), options };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Where relative paths start, absolute.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        self.shared.tree.workspace()
    }

    /// The absolute path that a user's path stands for, as answers show it; `..` is left for the kernel.
    ///
    /// # Errors
    /// [`Error::OutsideRoot`] for an absolute path elsewhere.
    pub fn shown_path(&self, path: &UserPath) -> Result<PathBuf> {
        Ok(self.tree().locate(path)?.shown)
    }

    /// Describes an entry; for a symbolic link, the link itself.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::PermissionDenied`], [`Error::OutsideRoot`].
    pub fn stat(&self, path: &UserPath) -> Result<(PathBuf, Metadata)> {
        let located = self.tree().locate(path)?;
        let stat = if split(&located.inner).is_some() && !path.names_directory() {
            self.tree().place(&located)?.stat()?
        } else {
            // `a/..`, `a/` and the root itself are directories or nothing.
            let directory = self.tree().open_directory(&located.inner).at(&located.shown)?;
            sys::stat_handle(directory).at(&located.shown)?
        };
        Ok((located.shown, Metadata::of(&stat)))
    }

    /// Makes a directory and its parents; one that is there already is fine.
    ///
    /// # Errors
    /// [`Error::Exists`] where something else has the name, [`Error::WrongKind`] where a parent is no directory.
    pub fn make_directory(&self, path: &UserPath) -> Result<PathBuf> {
        let located = self.tree().locate(path)?;
        match self.tree().make_directories(&located.inner, &located.shown) {
            Ok((_, created)) => {
                created.keep();
                Ok(located.shown)
            }
            Err(Error::WrongKind { .. }) if self.occupies(path) => Err(Error::Exists { path: located.shown }),
            Err(error) => Err(error),
        }
    }

    /// Whether the last name itself is taken by something that is no directory.
    fn occupies(&self, path: &UserPath) -> bool {
        let found = self.tree().locate(path).and_then(|located| self.tree().place(&located)?.stat());
        found.is_ok_and(|stat| stat.entry_type() != EntryType::Directory)
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.shared.tree
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Waits for every other operation of this service on these names.
    pub(crate) fn hold(&self, places: &[&Place]) -> Result<PathGuard> {
        let mut keys = Vec::with_capacity(places.len());
        for place in places {
            let directory = sys::stat_handle(&place.directory).at(&place.shown)?.identity();
            let key = LockKey { directory, name: place.name.clone() };
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(self.shared.locks.hold(keys))
    }
}

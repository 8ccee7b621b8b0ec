//! The service: the opened root, the locks, and the small operations without a module of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{At, Error, Result};
use crate::locks::{LockKey, PathGuard, PathLocks};
use crate::metadata::{EntryType, Metadata};
use crate::path::{UserPath, split};
use crate::root::{Place, Root, Tree};
use crate::sys;

/// When written bytes must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When the system writes them back, as for `cp` and `tar`. A crash of the server loses nothing; a power
    /// failure may lose writes that were answered in the last seconds. ext4 and btrfs order a replacing rename
    /// after its data.
    #[default]
    Cached,
    /// Before a write is answered.
    Synced,
}

/// The options of a service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// The durability of uploads. A move between devices always syncs before it deletes its source.
    pub durability: Durability,
    /// Where an upload is spooled if its own directory is not writable; the system's temporary directory by
    /// default.
    pub spool_directory: Option<PathBuf>,
}

/// The file service of one root. Cheap to clone; clones share their locks, so open it once per root.
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
    /// [`Error::NotFound`] or [`Error::WrongKind`] if the root or the workspace is not a directory,
    /// [`Error::OutsideRoot`] if the workspace is not inside the root.
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

    /// The absolute path of the workspace, where relative paths start.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        self.shared.tree.workspace()
    }

    /// The absolute path of a user's path, as shown to the user; `..` is kept for the kernel to resolve.
    ///
    /// # Errors
    /// [`Error::OutsideRoot`] for an absolute path outside the root.
    pub fn shown_path(&self, path: &UserPath) -> Result<PathBuf> {
        Ok(self.tree().locate(path)?.shown)
    }

    /// An entry's path and metadata; for a symbolic link, those of the link itself.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::PermissionDenied`], [`Error::OutsideRoot`].
    pub fn stat(&self, path: &UserPath) -> Result<(PathBuf, Metadata)> {
        let located = self.tree().locate(path)?;
        let stat = if split(&located.inner).is_some() && !path.names_directory() {
            self.tree().place(&located)?.stat()?
        } else {
            // `a/..`, `a/` and the root can only be directories.
            let directory = self.tree().open_directory(&located.inner).at(&located.shown)?;
            sys::stat_handle(directory).at(&located.shown)?
        };
        Ok((located.shown, Metadata::of(&stat)))
    }

    /// Creates a directory and its parents; an existing directory is not an error.
    ///
    /// # Errors
    /// [`Error::Exists`] if an entry of another kind has the name, [`Error::WrongKind`] if a parent is not a
    /// directory.
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

    /// Whether the last name exists and is not a directory.
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

    /// Locks these names against other operations of this service.
    pub(crate) fn lock(&self, places: &[&Place]) -> Result<PathGuard> {
        let mut keys = Vec::with_capacity(places.len());
        for place in places {
            let directory = sys::stat_handle(&place.directory).at(&place.shown)?.identity();
            let key = LockKey { directory, name: place.name.clone() };
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(self.shared.locks.lock(keys))
    }
}

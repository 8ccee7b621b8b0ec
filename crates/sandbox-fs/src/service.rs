//! The service: the opened root, the locks, and the small operations without a module of their own.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{At, Error, Result};
use crate::locks::{LockKey, PathGuard, PathLocks};
use crate::metadata::{EntryType, Metadata};
use crate::path::{UserPath, split};
use crate::remove::remove_tree;
use crate::root::{Place, Root, Tree};
use crate::sys::{self, Name};
use crate::temporaries::{Noted, Temporaries};

/// The time at which written bytes are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// They are on disk when the system writes them back, as for `cp` and `tar`. A crash of the server loses nothing; a power
    /// failure may lose writes that were answered in the last seconds. ext4 and btrfs order a replacing rename
    /// after its data.
    #[default]
    Cached,
    /// They are on disk before a write is answered.
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
    /// Where temporary names are recorded, so that a later process can remove the leftovers of one that was killed; not
    /// recorded by default.
    pub temporaries_directory: Option<PathBuf>,
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
    merging: Mutex<()>,
    temporaries: Option<Arc<Temporaries>>,
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
    /// See [`FileService::open`].
    pub fn open_with(root: &Root, options: Options) -> Result<Self> {
        let (tree, locks) = (Tree::open(root)?, Arc::new(PathLocks::default()));
        let temporaries = options.temporaries_directory.clone().map(Temporaries::new).map(Arc::new);
        let shared = Shared { tree, locks, options, merging: Mutex::new(()), temporaries };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Removes the temporary files and folders of processes that were killed, inside this root.
    pub fn remove_leftovers(&self) {
        let Some(temporaries) = &self.shared.temporaries else { return };
        temporaries.sweep(|directory, name| {
            let Ok(located) = UserPath::parse(directory).and_then(|path| self.tree().locate(&path)) else {
                return false;
            };
            match self.tree().open_directory(&located.inner) {
                Ok(open) => remove_tree(Name { directory: open.as_fd(), name }, &located.shown).is_ok(),
                // The directory was removed with its contents.
                Err(error) => error.kind() == std::io::ErrorKind::NotFound,
            }
        });
    }

    /// Records a temporary name before it is created; `directory` is relative to the anchor.
    pub(crate) fn note_temporary(&self, directory: &Path, name: &OsStr) -> Option<Noted> {
        let temporaries = self.shared.temporaries.as_ref()?;
        Some(temporaries.note(self.tree().real_path(directory), name))
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

    /// Waits until no other archive is being merged. The lock guards no data, so a panic cannot corrupt any.
    pub(crate) fn hold_merging(&self) -> MutexGuard<'_, ()> {
        self.shared.merging.lock().unwrap_or_else(PoisonError::into_inner)
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

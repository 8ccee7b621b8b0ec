//! The root: where paths start, and which tree they must not leave.
//!
//! [`Tree::open_directory`] is the only function that opens a path of several components. Below a confined root it
//! uses cap-std: `openat2` with `RESOLVE_BENEATH`, or opening component by component where a sandbox denies that
//! call. No string comparison decides whether a path is allowed: the prefix of an absolute path is only
//! translated, and the kernel checks the rest.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{CWD, Mode};
use rustix::io::Errno;

use crate::created::CreatedDirectories;
use crate::error::{At, Error, Result};
use crate::metadata::EntryType;
use crate::path::{UserPath, split};
use crate::sys::{self, Identity, Stat};

/// The kernel's limit on followed symbolic links.
const LINK_HOPS: usize = 40;
/// How often to retry after a concurrent change.
const RACE_RETRIES: usize = 16;

/// The files that the service may access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// Everything that the process may access.
    Unconfined {
        /// Where relative paths start.
        workspace: PathBuf,
    },
    /// One tree, which symbolic links cannot leave.
    Confined {
        /// The top of the tree.
        root: PathBuf,
        /// Where relative paths start; must be inside the root.
        workspace: PathBuf,
    },
}

/// A user's path, resolved to a display path and a path to open from the [`Anchor`].
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// The absolute path, as shown to the user.
    pub(crate) shown: PathBuf,
    /// The path to open: absolute without confinement, relative to the root with it.
    pub(crate) inner: PathBuf,
}

/// A name in an open directory, for system calls on single names.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) directory: OwnedFd,
    /// The path of the directory as it was passed to the anchor.
    pub(crate) parent: PathBuf,
    pub(crate) name: OsString,
    pub(crate) shown: PathBuf,
}

impl Place {
    pub(crate) fn as_name(&self) -> sys::Name<'_> {
        sys::Name { directory: self.directory.as_fd(), name: &self.name }
    }

    pub(crate) fn stat(&self) -> Result<Stat> {
        sys::stat_name(&self.directory, &self.name).at(&self.shown)
    }

    pub(crate) fn find(&self) -> Result<Option<Stat>> {
        sys::find_name(&self.directory, &self.name).at(&self.shown)
    }
}

/// The directory that paths are opened from.
#[derive(Debug)]
enum Anchor {
    /// The root of the file system: the service is not confined.
    Everything,
    /// The confined root.
    Beneath {
        directory: Dir,
        /// The root's path as given and its canonical path; absolute paths may start with either.
        names: [PathBuf; 2],
    },
}

/// The opened root.
#[derive(Debug)]
pub(crate) struct Tree {
    anchor: Anchor,
    workspace: PathBuf,
    /// The workspace and its parent directories, which are never removed or moved.
    protected: Vec<Identity>,
}

impl Tree {
    pub(crate) fn open(root: &Root) -> Result<Self> {
        let (anchor, workspace) = match root {
            Root::Unconfined { workspace } => {
                (Anchor::Everything, std::path::absolute(workspace).at(workspace)?)
            }
            Root::Confined { root, workspace } => {
                let given = std::path::absolute(root).at(root)?;
                let canonical = root.canonicalize().at(root)?;
                let inside = workspace.canonicalize().at(workspace)?;
                let Ok(relative) = inside.strip_prefix(&canonical) else {
                    return Err(Error::OutsideRoot { path: workspace.clone() });
                };
                let workspace = given.join(relative);
                let directory = Dir::open_ambient_dir(&canonical, ambient_authority()).at(root)?;
                (Anchor::Beneath { directory, names: [given, canonical] }, workspace)
            }
        };
        if !workspace.metadata().at(&workspace)?.is_dir() {
            return Err(Error::at(&workspace, Errno::NOTDIR));
        }
        let protected = protected_directories(&workspace)?;
        Ok(Self { anchor, workspace, protected })
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(crate) fn is_protected(&self, identity: Identity) -> bool {
        self.protected.contains(&identity)
    }

    /// Resolves a user's path without touching the disk. Opening it checks where it leads.
    pub(crate) fn locate(&self, path: &UserPath) -> Result<Located> {
        // `components` drops repeated slashes and `.`, and keeps `..` for the kernel.
        let shown: PathBuf = self.workspace.join(path.as_path()).components().collect();
        let inner = match &self.anchor {
            Anchor::Everything => shown.clone(),
            Anchor::Beneath { names, .. } => {
                match names.iter().find_map(|name| shown.strip_prefix(name).ok()) {
                    Some(relative) => relative.to_path_buf(),
                    None => return Err(Error::OutsideRoot { path: shown }),
                }
            }
        };
        Ok(Located { shown, inner })
    }

    /// The absolute path of `inner`.
    pub(crate) fn real_path(&self, inner: &Path) -> PathBuf {
        match &self.anchor {
            Anchor::Everything => inner.to_path_buf(),
            Anchor::Beneath { names: [_, canonical], .. } => canonical.join(inner),
        }
    }

    /// Opens a directory by its path, following links that stay inside the anchor.
    pub(crate) fn open_directory(&self, inner: &Path) -> io::Result<OwnedFd> {
        let path = if inner.as_os_str().is_empty() { Path::new(".") } else { inner };
        match &self.anchor {
            Anchor::Everything => Ok(rustix::fs::openat(CWD, path, sys::directory_handle(), Mode::empty())?),
            Anchor::Beneath { directory, .. } => {
                let mut attempts = 0;
                loop {
                    match directory.open_dir(path) {
                        // Without `openat2`, a link that is replaced by a directory while it is read looks
                        // invalid.
                        Err(error)
                            if attempts < RACE_RETRIES
                                && Errno::from_io_error(&error) == Some(Errno::INVAL) =>
                        {
                            attempts += 1;
                        }
                        opened => return Ok(opened?.into_std_file().into()),
                    }
                }
            }
        }
    }

    /// The canonical path of an existing file or directory. Only watches need it, because the system takes watches
    /// by path.
    pub(crate) fn canonical_path(&self, located: &Located) -> Result<PathBuf> {
        match &self.anchor {
            Anchor::Everything => located.inner.canonicalize().at(&located.shown),
            Anchor::Beneath { directory, names: [_, canonical] } => {
                let path = if located.inner.as_os_str().is_empty() { Path::new(".") } else { &located.inner };
                let relative = directory.canonicalize(path).at(&located.shown)?;
                Ok(canonical.join(relative).components().collect())
            }
        }
    }

    /// Opens the directory of a path and returns its last name, which is not followed.
    pub(crate) fn place(&self, located: &Located) -> Result<Place> {
        let Some((parent, name)) = split(&located.inner) else {
            return Err(Error::bad_name(
                &located.shown,
                "its last component must be a name, not `..` or the root",
            ));
        };
        let directory = self.open_directory(parent).at(&located.shown)?;
        let (parent, name) = (parent.to_path_buf(), name.to_os_string());
        Ok(Place { directory, parent, name, shown: located.shown.clone() })
    }

    /// Like [`Tree::place`], but follows a link in the last name to its final target, which need not exist.
    pub(crate) fn place_followed(&self, located: &Located) -> Result<Place> {
        let mut inner = located.inner.clone();
        for _ in 0..LINK_HOPS {
            let Some((parent, name)) = split(&inner) else {
                // `..` or the root: either a directory, or missing, or outside.
                self.open_directory(&inner).at(&located.shown)?;
                return Err(Error::WrongKind {
                    path: located.shown.clone(),
                    found: EntryType::Directory.described(),
                    needed: EntryType::File.described(),
                });
            };
            let directory = self.open_directory(parent).at(&located.shown)?;
            let is_link = sys::find_name(&directory, name)
                .at(&located.shown)?
                .is_some_and(|stat| stat.entry_type() == EntryType::Symlink);
            if !is_link {
                let (parent, name) = (parent.to_path_buf(), name.to_os_string());
                return Ok(Place { directory, parent, name, shown: located.shown.clone() });
            }
            let target = match sys::read_link(&directory, name) {
                Ok(target) => PathBuf::from(target),
                // The link was replaced in the meantime; try again.
                Err(Errno::INVAL | Errno::NOENT) => continue,
                Err(error) => return Err(Error::at(&located.shown, error)),
            };
            if target.is_absolute() && matches!(self.anchor, Anchor::Beneath { .. }) {
                return Err(Error::OutsideRoot { path: located.shown.clone() });
            }
            inner = parent.join(target);
        }
        Err(Error::at(&located.shown, Errno::LOOP))
    }

    /// Opens a directory, creating it and its missing parents.
    pub(crate) fn make_directories(
        &self,
        inner: &Path,
        shown: &Path,
    ) -> Result<(OwnedFd, CreatedDirectories)> {
        for _ in 0..RACE_RETRIES {
            match self.open_directory(inner) {
                Ok(directory) => return Ok((directory, CreatedDirectories::none())),
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => {}
                Err(error) => return Err(Error::at(shown, error)),
            }
            if let Some(made) = self.make_missing(inner, shown)? {
                return Ok(made);
            }
        }
        Err(Error::Changed { path: shown.to_path_buf() })
    }

    /// Creates the missing directories below the deepest existing one; `None` after a concurrent change.
    fn make_missing(&self, inner: &Path, shown: &Path) -> Result<Option<(OwnedFd, CreatedDirectories)>> {
        let mut missing: Vec<&OsStr> = Vec::new();
        let mut existing = inner;
        let mut directory = loop {
            let Some((parent, name)) = split(existing) else {
                return Err(Error::NotFound { path: shown.to_path_buf() });
            };
            missing.push(name);
            existing = parent;
            match self.open_directory(existing) {
                Ok(directory) => break directory,
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => {}
                Err(error) => return Err(Error::at(shown, error)),
            }
        };
        let mut created = CreatedDirectories::none();
        for name in missing.into_iter().rev() {
            match sys::make_directory(&directory, name) {
                Ok(()) => created.push(&directory, name).at(shown)?,
                Err(Errno::EXIST) => {
                    let dangling = sys::find_name(&directory, name)
                        .at(shown)?
                        .is_some_and(|stat| stat.entry_type() == EntryType::Symlink);
                    // A dangling link cannot become a directory; anything else is a concurrent change, so try
                    // again.
                    return if dangling {
                        Err(Error::Exists { path: shown.to_path_buf() })
                    } else {
                        Ok(None)
                    };
                }
                // The parent was removed concurrently.
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(Error::at(shown, error)),
            }
            directory = match sys::open_directory(&directory, name) {
                Ok(directory) => directory,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(error) => return Err(Error::at(shown, error)),
            };
        }
        Ok(Some((directory, created)))
    }
}

fn protected_directories(workspace: &Path) -> Result<Vec<Identity>> {
    let mut protected = Vec::new();
    for directory in workspace.canonicalize().at(workspace)?.ancestors() {
        let handle =
            rustix::fs::openat(CWD, directory, sys::directory_handle(), Mode::empty()).at(directory)?;
        protected.push(sys::stat_handle(handle).at(directory)?.identity());
    }
    Ok(protected)
}

//! Reads and replaces the files of the store, so that there is always, even after a crash, either the complete
//! old content or the complete new content.
//!
//! A directory has three files: `<hash>.json`, `<hash>.lock` (empty, permanent) and, during a write, `<hash>.tmp`.
//! The lock is a separate file because a rename replaces the content's inode, and a lock belongs to an inode. It
//! is an advisory lock of the open file, so it excludes threads as well as processes, and the kernel releases it
//! when a process dies. Reading takes no lock: a rename is atomic.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{Directory, Error};

/// The modes of files and folders: only the owner can read them, because entries may hold tokens.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// How long a writer waits for the lock while no other writer gets anything done.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How long it waits even if others do.
const LOCK_LIMIT: Duration = Duration::from_secs(60);
/// How long it waits between two attempts.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The files of one directory.
pub(crate) struct DirectoryFile {
    /// The store's folder.
    folder: PathBuf,
    content: PathBuf,
    lock: PathBuf,
    temporary: PathBuf,
}

impl DirectoryFile {
    pub(crate) fn new(folder: &Path, directory: &Directory) -> Self {
        let stem = directory.file_stem();
        let path = |extension: &str| folder.join(format!("{stem}.{extension}"));
        Self { folder: folder.to_owned(), content: path("json"), lock: path("lock"), temporary: path("tmp") }
    }

    /// The content file, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.content
    }

    /// Returns the content; `None` if nothing was ever stored.
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, Error> {
        match fs::read(&self.content) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &self.content)(error)),
        }
    }

    /// Waits until no other thread or process writes this file, then excludes them until the lock is dropped. A process
    /// that holds the lock and writes nothing is waited for only so long: any program of the same user can do that.
    pub(crate) fn lock(self) -> Result<LockedFile, Error> {
        let mut patience = Patience::new(&self.content);
        loop {
            let lock = self.open_lock()?;
            while !try_lock(&lock).map_err(Error::io("lock", &self.lock))? {
                if patience.is_over(&self.content) {
                    return Err(Error::Locked { file: self.lock });
                }
                std::thread::sleep(LOCK_PAUSE);
            }
            let held = lock.metadata().map_err(Error::io("look at", &self.lock))?;
            match fs::metadata(&self.lock) {
                Ok(named) if (named.dev(), named.ino()) == (held.dev(), held.ino()) => {
                    return Ok(LockedFile { file: self, lock });
                }
                // The lock file was deleted in the meantime. Others now lock a new lock file, so this writer
                // must do so too.
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("look at", &self.lock)(error)),
            }
        }
    }

    fn open_lock(&self) -> Result<File, Error> {
        let open =
            || OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(&self.lock);
        match open() {
            // The data directory was removed while the server was running, so create it again.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make_private_folder(&self.folder)?;
                open()
            }
            opened => opened,
        }
        .map_err(Error::io("open", &self.lock))
    }
}

/// The locked files of a directory, which only the holder may replace.
pub(crate) struct LockedFile {
    file: DirectoryFile,
    lock: File,
}

impl LockedFile {
    pub(crate) fn file(&self) -> &DirectoryFile {
        &self.file
    }

    /// Replaces the content. When it returns, the new content survives a power failure.
    pub(crate) fn replace(&self, content: &[u8]) -> Result<(), Error> {
        let temporary = &self.file.temporary;
        let written = self.write_temporary(content).map_err(Error::io("write", temporary)).and_then(|()| {
            fs::rename(temporary, &self.file.content).map_err(Error::io("replace", &self.file.content))
        });
        if let Err(error) = written {
            // Free the space on a full disk. If this fails too, the next write deletes the file.
            let _ = fs::remove_file(temporary);
            return Err(error);
        }
        sync_folder(&self.file.folder)
    }

    /// Writes the temporary file. The lock makes the fixed name safe, and the next write replaces a file left
    /// by a killed process.
    fn write_temporary(&self, content: &[u8]) -> io::Result<()> {
        match fs::remove_file(&self.file.temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut temporary =
            OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&self.file.temporary)?;
        temporary.write_all(content)?;
        temporary.sync_all()
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that another thread is forking shares the open file until it
        // executes its program. If unlocking fails, closing still releases the lock eventually.
        let _ = self.lock.unlock();
    }
}

/// Creates a private folder and its parents, and makes an existing one private.
pub(crate) fn make_private_folder(folder: &Path) -> Result<(), Error> {
    make_folder(folder)?;
    let found = fs::metadata(folder).map_err(Error::io("look at", folder))?;
    if !found.is_dir() {
        return Err(Error::io("use", folder)(ErrorKind::NotADirectory.into()));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(DIRECTORY_MODE))
            .map_err(Error::io("make private", folder))?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<(), Error> {
    let parent = folder.parent();
    let make = || DirBuilder::new().mode(DIRECTORY_MODE).create(folder);
    let made = match (make(), parent) {
        (Err(error), Some(parent)) if error.kind() == ErrorKind::NotFound => {
            make_folder(parent)?;
            make()
        }
        (made, _) => made,
    };
    match (made, parent) {
        (Ok(()), Some(parent)) => sync_folder(parent),
        (Ok(()), None) => Ok(()),
        (Err(error), _) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        (Err(error), _) => Err(Error::io("make", folder)(error)),
    }
}

/// Syncs a folder: a new name in it survives a power failure only after that.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", folder))
}

/// False when another writer holds the lock.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// How long a writer goes on waiting. Any number of writers may queue up, so each write that succeeds renews it.
struct Patience {
    began: Instant,
    renewed: Instant,
    /// Identifies the content: each write gives it a new file.
    content: Option<(u64, i64, i64)>,
}

impl Patience {
    fn new(content: &Path) -> Self {
        let now = Instant::now();
        Self { began: now, renewed: now, content: version(content) }
    }

    fn is_over(&mut self, content: &Path) -> bool {
        let found = version(content);
        if found != self.content {
            (self.content, self.renewed) = (found, Instant::now());
        }
        self.renewed.elapsed() > LOCK_PATIENCE || self.began.elapsed() > LOCK_LIMIT
    }
}

fn version(file: &Path) -> Option<(u64, i64, i64)> {
    let found = fs::metadata(file).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec()))
}

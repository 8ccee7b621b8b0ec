//! File locks between processes. The kernel releases a lock when its holder dies.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use crate::error::{CatalogError, StorageResult};
use crate::layout::open_lock_file;

/// How often a waiting process tries again. It polls instead of blocking, so that a waiting future can be dropped.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A lock, held until dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock exclusively if it is free.
    pub(crate) fn try_acquire(path: &Path) -> Option<Self> {
        let file = open_lock_file(path).ok()?;
        file.try_lock().ok()?;
        Some(Self { _file: file })
    }

    /// Waits for a shared lock, which excludes only exclusive ones.
    pub(crate) async fn acquire_shared(path: &Path) -> Result<Self, CatalogError> {
        let file = open_lock_file(path).during("open lock", path)?;
        loop {
            match file.try_lock_shared() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(POLL_INTERVAL).await,
                Err(TryLockError::Error(error)) => return Err(error).during("lock", path),
            }
        }
    }

    /// Waits for the exclusive lock; `on_wait` runs once if another process holds it.
    pub(crate) async fn acquire(path: &Path, on_wait: impl FnOnce()) -> Result<Self, CatalogError> {
        let file = open_lock_file(path).during("open lock", path)?;
        let mut on_wait = Some(on_wait);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => {
                    if let Some(on_wait) = on_wait.take() {
                        on_wait();
                    }
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                Err(TryLockError::Error(error)) => return Err(error).during("lock", path),
            }
        }
    }
}

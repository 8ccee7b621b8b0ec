//! Allows one writer at a time for each name, whatever path it was reached by.
//!
//! A name is identified by its directory's inode, so two spellings of one path share a lock. Several names are
//! locked in one step or not at all, so no lock order can be violated. Other processes are not excluded.

use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::sys::Identity;

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LockKey {
    pub(crate) directory: Identity,
    pub(crate) name: OsString,
}

/// The currently locked names.
#[derive(Debug, Default)]
pub(crate) struct PathLocks {
    held: Mutex<HashSet<LockKey>>,
    freed: Condvar,
}

/// Keeps its names locked until dropped.
#[derive(Debug)]
pub(crate) struct PathGuard {
    locks: Arc<PathLocks>,
    keys: Vec<LockKey>,
}

impl PathLocks {
    /// Waits until none of the names is locked, then locks them all.
    pub(crate) fn lock(self: &Arc<Self>, keys: Vec<LockKey>) -> PathGuard {
        let mut held = self.table();
        while keys.iter().any(|key| held.contains(key)) {
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.extend(keys.iter().cloned());
        PathGuard { locks: Arc::clone(self), keys }
    }

    /// The set stays consistent even if another thread panics: it is only extended or shrunk in single calls.
    fn table(&self) -> MutexGuard<'_, HashSet<LockKey>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PathGuard {
    fn drop(&mut self) {
        let mut held = self.locks.table();
        for key in &self.keys {
            held.remove(key);
        }
        drop(held);
        self.locks.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn key(name: &str) -> LockKey {
        LockKey { directory: Identity { device: 1, inode: 1 }, name: name.into() }
    }

    #[test]
    fn crossing_pairs_of_names_neither_overlap_nor_deadlock() {
        let locks = Arc::new(PathLocks::default());
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for order in [["a", "b"], ["b", "a"], ["a", "b"], ["b", "a"]] {
                let (locks, inside) = (&locks, &inside);
                scope.spawn(move || {
                    for _ in 0..500 {
                        let guard = locks.lock(order.map(key).to_vec());
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(guard);
                    }
                });
            }
        });
        assert!(locks.table().is_empty());
    }
}

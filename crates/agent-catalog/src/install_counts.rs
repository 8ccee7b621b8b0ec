//! How installs of this process ended, for whoever watches it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::CatalogError;
use crate::info::InstallOutcome;

/// How many installs ended in which way. An install that several wait for is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstallCounts {
    /// Something was installed.
    pub installed: u64,
    /// It was there already.
    pub already_installed: u64,
    /// It could not be installed.
    pub failed: u64,
}

/// The counting itself.
#[derive(Debug, Default)]
pub(crate) struct InstallCounter {
    installed: AtomicU64,
    already_installed: AtomicU64,
    failed: AtomicU64,
}

impl InstallCounter {
    pub(crate) fn count(&self, result: &Result<InstallOutcome, CatalogError>) {
        let counter = match result {
            Ok(outcome) if outcome.already_installed => &self.already_installed,
            Ok(_) => &self.installed,
            Err(_) => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> InstallCounts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        InstallCounts {
            installed: get(&self.installed),
            already_installed: get(&self.already_installed),
            failed: get(&self.failed),
        }
    }
}

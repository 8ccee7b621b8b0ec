//! Counts of how the installs of this process ended, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::CatalogError;
use crate::info::InstallOutcome;

/// Numbers of finished installs by result. An install that several callers wait for counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstallCounts {
    /// The agent was installed.
    pub installed: u64,
    /// The agent was already installed.
    pub already_installed: u64,
    /// The install failed.
    pub failed: u64,
}

/// The counters behind [`InstallCounts`].
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

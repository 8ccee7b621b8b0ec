//! The counter that puts the records of many logs into one order.

use std::sync::atomic::{AtomicU64, Ordering};

/// Order numbers, drawn in blocks. A log draws while its owner's lock is held: a reader that loads the newest number and
/// then takes that lock finds every record up to it.
#[derive(Debug)]
pub struct OrderCounter(AtomicU64);

impl OrderCounter {
    /// A counter whose first number is `first`, which must not be 0.
    #[must_use]
    pub const fn starting_at(first: u64) -> Self {
        Self(AtomicU64::new(first))
    }

    /// Draws `count` consecutive numbers. Returns the first.
    pub fn draw(&self, count: u64) -> u64 {
        self.0.fetch_add(count, Ordering::SeqCst)
    }

    /// The newest number drawn so far.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.0.load(Ordering::SeqCst) - 1
    }
}

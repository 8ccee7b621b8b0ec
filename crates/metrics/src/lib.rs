//! Counters that cost one relaxed addition, and the text in which a scraper reads them.
//!
//! Why not a metrics facade: those look a series up by name and labels when it is counted, and this product counts
//! on the way of every message. Here a series is a field. Whoever counts holds the field; whoever is scraped writes
//! its fields down with [`Exposition`]. There is no registry, no global, no dependency, and nothing that sends.
//!
//! Labels are chosen when a family is written, from words that stand in the code. A value that a client or an agent
//! chose (a path, a server id, an agent's name) is never a label: series would grow without bound.

mod exposition;
mod histogram;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use exposition::{CONTENT_TYPE, Exposition, Family};
pub use histogram::{BOUNDS_MICROS, Histogram};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts many at once. Relaxed: a number is told, nothing is ordered by it.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// What was counted so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many there are of something now.
#[derive(Debug, Default, Clone)]
pub struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// Counts one for as long as the guard lives.
    #[must_use]
    pub fn hold(&self) -> Held {
        self.0.fetch_add(1, Ordering::Relaxed);
        Held(Arc::clone(&self.0))
    }

    /// How many there are.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One that is counted by a [`Gauge`] until it is dropped.
#[derive(Debug)]
pub struct Held(Arc<AtomicU64>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_grows_and_a_gauge_follows_what_is_held() {
        let counter = Counter::default();
        counter.add(5);
        counter.increment();
        assert_eq!(counter.get(), 6);
        let gauge = Gauge::default();
        let (first, second) = (gauge.hold(), gauge.hold());
        assert_eq!(gauge.get(), 2);
        drop(first);
        assert_eq!(gauge.get(), 1);
        drop(second);
        assert_eq!(gauge.get(), 0);
    }
}

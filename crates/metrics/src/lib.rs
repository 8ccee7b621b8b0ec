//! Counters that cost one relaxed addition, and the text format in which a scraper reads them.
//!
//! Why this is not a metrics facade: a facade looks up a series by name and labels on every increment, and
//! this product increments counters for every message. Here, a series is a struct field. The code that counts
//! owns the field, and writes it with [`Exposition`] when it is scraped. There is no registry, no global
//! state and no dependency, and metrics are never pushed anywhere.
//!
//! Labels are chosen when a family is written, from constants in the code. A value that a client or an agent
//! chose (a path, a server id) is never a label, because the number of series would grow without bound. The
//! only exception is the name of an agent, and the code that counts by agent limits the number of names.

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
    /// Adds `count`. Relaxed, because no other memory access depends on the number.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// The count so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The number of things of one kind that exist now.
#[derive(Debug, Default, Clone)]
pub struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// Counts one for as long as the guard lives.
    #[must_use]
    pub fn hold(&self) -> GaugeGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        GaugeGuard(Arc::clone(&self.0))
    }

    /// The current number.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts as one in a [`Gauge`] until it is dropped.
#[derive(Debug)]
pub struct GaugeGuard(Arc<AtomicU64>);

impl Drop for GaugeGuard {
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

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

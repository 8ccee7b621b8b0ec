//! A histogram of durations. All histograms have the same buckets.

use std::time::Duration;

use crate::Counter;

/// The upper bounds of the buckets in microseconds. They range from a round trip through a pipe to a long
/// turn of an agent.
pub const BOUNDS_MICROS: [u64; 15] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    100_000,
    250_000,
    1_000_000,
    5_000_000,
    10_000_000,
    60_000_000,
    600_000_000,
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The count per bucket, not cumulative. The last bucket counts durations longer than every bound.
    buckets: [Counter; BOUNDS_MICROS.len() + 1],
    sum_micros: Counter,
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn observe(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_MICROS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].increment();
        self.sum_micros.add(micros);
    }

    /// The count of each bucket; the last bucket has no bound.
    pub(crate) fn counts(&self) -> [u64; BOUNDS_MICROS.len() + 1] {
        std::array::from_fn(|index| self.buckets[index].get())
    }

    pub(crate) fn sum_micros(&self) -> u64 {
        self.sum_micros.get()
    }

    /// True when nothing was counted yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts().iter().all(|count| *count == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let histogram = Histogram::default();
        assert!(histogram.is_empty());
        for micros in [0, 100, 101, 600_000_000, 600_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let counts = histogram.counts();
        assert_eq!((counts[0], counts[1], counts[14], counts[15]), (2, 1, 1, 1));
        assert_eq!(histogram.sum_micros(), 1_200_000_202);
    }
}

//! The counter that puts the records of many logs into one common order.

use std::sync::atomic::{AtomicU64, Ordering};

/// Hands out order numbers in blocks. A log draws numbers while its owner's lock is held, so a reader that
/// loads the newest number and then takes that lock finds every record up to that number.
#[derive(Debug)]
pub struct OrderCounter(AtomicU64);

impl OrderCounter {
    /// A counter whose first number is `first`, which must not be 0.
    #[must_use]
    pub const fn starting_at(first: u64) -> Self {
        Self(AtomicU64::new(first))
    }

    /// Draws `count` consecutive numbers. Returns the first of them.
    pub fn draw(&self, count: u64) -> u64 {
        self.0.fetch_add(count, Ordering::SeqCst)
    }

    /// The newest number that was drawn.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.0.load(Ordering::SeqCst) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_drawn_in_blocks() {
        let order = OrderCounter::starting_at(5);
        assert_eq!(order.newest(), 4);
        assert_eq!((order.draw(3), order.newest()), (5, 7));
        assert_eq!((order.draw(1), order.newest()), (8, 8));
    }
}

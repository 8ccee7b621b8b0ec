//! One account for the memory that messages take, over all instances.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much may be held, and how much is.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
}

impl MemoryBudget {
    /// An empty account.
    #[must_use]
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// Takes memory that may not be refused, because it holds what an agent has already said.
    pub(crate) fn charge(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives memory back.
    pub(crate) fn refund(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Gives some back and takes some, in one step.
    pub(crate) fn exchange(&self, back: usize, more: usize) {
        if more >= back {
            self.charge(more - back);
        } else {
            self.refund(back - more);
        }
    }

    /// How much must go before `more` fits.
    #[must_use]
    pub(crate) fn excess(&self, more: usize) -> usize {
        self.used.load(Ordering::Relaxed).saturating_add(more).saturating_sub(self.limit)
    }

    /// The whole of it.
    #[must_use]
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// What is held now.
    #[must_use]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn try_charge(&self, bytes: usize) -> bool {
        self.used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= self.limit)
            })
            .is_ok()
    }
}

/// Memory that a message holds while it is on its way, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl Reservation {
    /// A reservation of nothing yet.
    #[must_use]
    pub(crate) fn empty(budget: &Arc<MemoryBudget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Takes more, if there is more.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let granted = self.budget.try_charge(bytes);
        if granted {
            self.bytes += bytes;
        }
        granted
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.refund(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_refused_over_the_limit_and_given_back_on_drop() {
        let budget = MemoryBudget::new(100);
        let mut first = Reservation::empty(&budget);
        assert!(first.grow(60));
        assert!(!Reservation::empty(&budget).grow(41));
        assert_eq!(budget.excess(50), 10);
        drop(first);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_an_agent_said_is_charged_even_over_the_limit() {
        let budget = MemoryBudget::new(10);
        budget.charge(25);
        assert_eq!(budget.excess(0), 15);
        budget.refund(25);
        assert_eq!(budget.excess(0), 0);
    }
}

//! One account for the memory that messages take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much may be held, and how much is.
#[derive(Debug)]
pub struct MemoryAccount {
    limit: usize,
    used: AtomicUsize,
}

impl MemoryAccount {
    /// An empty account.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// Charges memory that cannot be refused because it is in use already.
    pub fn charge(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives charged memory back.
    pub fn refund(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Replaces one charge by another, in one step.
    pub fn exchange(&self, old: usize, new: usize) {
        if new >= old {
            self.charge(new - old);
        } else {
            self.refund(old - new);
        }
    }

    /// How many bytes must be given back before `more` fits.
    #[must_use]
    pub fn excess(&self, more: usize) -> usize {
        self.used.load(Ordering::Relaxed).saturating_add(more).saturating_sub(self.limit)
    }

    /// The limit.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// What is charged now.
    #[must_use]
    pub fn used(&self) -> usize {
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

/// A charge that is given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    account: Arc<MemoryAccount>,
    bytes: usize,
}

impl Reservation {
    /// A reservation of nothing yet.
    #[must_use]
    pub fn empty(account: &Arc<MemoryAccount>) -> Self {
        Self { account: Arc::clone(account), bytes: 0 }
    }

    /// Charges memory that is in use already, also over the limit.
    #[must_use]
    pub fn unrefused(account: &Arc<MemoryAccount>, bytes: usize) -> Self {
        account.charge(bytes);
        Self { account: Arc::clone(account), bytes }
    }

    /// Reserves more. Returns false, and changes nothing, when that would exceed the limit.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let granted = self.account.try_charge(bytes);
        if granted {
            self.bytes += bytes;
        }
        granted
    }

    /// Reserves `bytes` in place of what is reserved. Returns false, and changes nothing, when that would exceed the limit.
    #[must_use]
    pub fn resize(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            return self.grow(bytes - self.bytes);
        }
        self.account.refund(self.bytes - bytes);
        self.bytes = bytes;
        true
    }

    /// What is reserved.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.account.refund(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_refused_over_the_limit_and_given_back_on_drop() {
        let account = MemoryAccount::new(100);
        let mut first = Reservation::empty(&account);
        assert!(first.grow(60));
        assert!(!Reservation::empty(&account).grow(41));
        assert_eq!(account.excess(50), 10);
        assert!(first.resize(100) && !first.resize(101) && first.resize(30));
        assert_eq!((first.bytes(), account.used()), (30, 30));
        drop(first);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn memory_that_is_in_use_is_charged_even_over_the_limit() {
        let account = MemoryAccount::new(10);
        let held = Reservation::unrefused(&account, 25);
        assert_eq!((account.excess(0), held.bytes()), (15, 25));
        drop(held);
        assert_eq!(account.used(), 0);
    }
}

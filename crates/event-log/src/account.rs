//! One account for the memory that messages take in all logs.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

/// A memory limit, and how much of it is used.
#[derive(Debug)]
pub struct MemoryAccount {
    limit: usize,
    used: AtomicUsize,
    /// The part that only readers hold.
    detached: AtomicUsize,
    relief: OnceLock<Relief>,
}

/// What takes memory from slow readers.
struct Relief(Box<dyn Fn(usize) -> usize + Send + Sync>);

impl fmt::Debug for Relief {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Relief")
    }
}

impl MemoryAccount {
    /// An empty account.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        let (used, detached) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { limit, used, detached, relief: OnceLock::new() })
    }

    /// Charges memory that is already in use and therefore cannot be refused.
    pub fn charge(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives charged memory back.
    pub fn refund(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Replaces one charge by another in one atomic step.
    pub fn exchange(&self, old: usize, new: usize) {
        if new >= old {
            self.charge(new - old);
        } else {
            self.refund(old - new);
        }
    }

    /// How many bytes must be freed before `more` bytes fit.
    #[must_use]
    pub fn excess(&self, more: usize) -> usize {
        self.used.load(Ordering::Relaxed).saturating_add(more).saturating_sub(self.limit)
    }

    /// The limit.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// How many bytes are charged.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// What logs have evicted and readers still hold.
    #[must_use]
    pub fn detached(&self) -> usize {
        self.detached.load(Ordering::Relaxed)
    }

    /// Sets what is called when readers must give back so many bytes. It returns how many will be given back soon. Only
    /// the first one is kept.
    pub fn set_relief(&self, relief: impl Fn(usize) -> usize + Send + Sync + 'static) {
        let _ = self.relief.set(Relief(Box::new(relief)));
    }

    /// So many bytes are missing that readers hold, and those that do not read must give them back. Returns how many will be given
    /// back soon.
    pub fn relieve(&self, bytes: usize) -> usize {
        self.relief.get().map_or(0, |Relief(relieve)| relieve(bytes))
    }

    fn try_charge(&self, bytes: usize) -> bool {
        self.used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= self.limit)
            })
            .is_ok()
    }
}

/// Charged memory that is given back on drop.
#[derive(Debug)]
pub struct Reservation {
    account: Arc<MemoryAccount>,
    bytes: usize,
    is_detached: AtomicBool,
}

impl Reservation {
    /// A reservation of zero bytes.
    #[must_use]
    pub fn empty(account: &Arc<MemoryAccount>) -> Self {
        Self { account: Arc::clone(account), bytes: 0, is_detached: AtomicBool::new(false) }
    }

    /// Charges memory that is already in use, even above the limit.
    #[must_use]
    pub fn unrefused(account: &Arc<MemoryAccount>, bytes: usize) -> Self {
        account.charge(bytes);
        Self { account: Arc::clone(account), bytes, is_detached: AtomicBool::new(false) }
    }

    /// Reserves more memory. Returns false and changes nothing if that would exceed the limit.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let granted = self.account.try_charge(bytes);
        if granted {
            self.bytes += bytes;
        }
        granted
    }

    /// Changes the size of the reservation to `bytes`. Returns false and changes nothing if that would exceed
    /// the limit.
    #[must_use]
    pub fn resize(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            return self.grow(bytes - self.bytes);
        }
        self.account.refund(self.bytes - bytes);
        self.bytes = bytes;
        true
    }

    /// How many bytes are reserved.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Reservation {
    /// From now on only readers hold the memory.
    pub(crate) fn detach(&self) {
        if !self.is_detached.swap(true, Ordering::Relaxed) {
            self.account.detached.fetch_add(self.bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if *self.is_detached.get_mut() {
            self.account.detached.fetch_sub(self.bytes, Ordering::Relaxed);
        }
        if self.bytes > 0 {
            self.account.refund(self.bytes);
        }
    }
}

/// Charges bytes for as long as anything holds them.
#[must_use]
pub fn charged(bytes: Bytes, account: &Arc<MemoryAccount>) -> Bytes {
    let _charge = Reservation::unrefused(account, bytes.len());
    Bytes::from_owner(Charged { bytes, _charge })
}

struct Charged {
    bytes: Bytes,
    _charge: Reservation,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
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
    fn charged_bytes_count_until_the_last_part_of_them_is_dropped() {
        let account = MemoryAccount::new(10);
        let bytes = charged(Bytes::from_static(b"twelve bytes"), &account);
        let part = bytes.slice(..3);
        drop(bytes);
        assert_eq!((account.used(), &part[..]), (12, &b"twe"[..]));
        drop(part);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn memory_that_is_in_use_is_charged_even_over_the_limit() {
        let account = MemoryAccount::new(10);
        let mut held = Reservation::unrefused(&account, 25);
        assert_eq!((account.excess(0), held.bytes()), (15, 25));
        assert!(held.resize(25), "it needs no more");
        drop(held);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn an_exchange_changes_the_charge_by_the_difference() {
        let account = MemoryAccount::new(100);
        account.charge(60);
        account.exchange(20, 50);
        assert_eq!((account.used(), account.excess(20), account.limit()), (90, 10, 100));
        account.exchange(50, 5);
        account.exchange(5, 5);
        assert_eq!((account.used(), account.excess(20)), (45, 0));
    }

    #[test]
    fn a_reservation_grows_and_shrinks_by_the_difference() {
        let account = MemoryAccount::new(100);
        let mut held = Reservation::unrefused(&account, 10);
        assert!(held.grow(20) && held.resize(50) && held.resize(50));
        assert_eq!((held.bytes(), account.used()), (50, 50));
        assert!(!held.grow(usize::MAX));
        assert!(held.resize(20));
        assert_eq!((held.bytes(), account.used()), (20, 20));
    }

    #[test]
    fn detached_memory_is_counted_once_until_it_is_dropped() {
        let account = MemoryAccount::new(10);
        let (held, other) = (Reservation::unrefused(&account, 25), Reservation::unrefused(&account, 3));
        assert_eq!(account.detached(), 0);
        held.detach();
        held.detach();
        assert_eq!((account.detached(), account.used()), (25, 28));
        other.detach();
        drop(held);
        assert_eq!((account.detached(), account.used()), (3, 3));
    }

    #[test]
    fn the_first_relief_is_asked() {
        let account = MemoryAccount::new(10);
        assert_eq!(account.relieve(4), 0);
        account.set_relief(|bytes| bytes * 2);
        account.set_relief(|_| 7);
        assert_eq!(account.relieve(4), 8);
    }
}

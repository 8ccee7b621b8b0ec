//! Updates that wait to be delivered, some at a time.
//!
//! Whatever one update holds is framed when it is delivered, so a subscription that is not read must not deliver more
//! than it is about to send.

use std::collections::VecDeque;

use crate::subscription::Update;

/// How many bytes are delivered at once, except for a single longer update.
pub(super) const UPDATE_BYTES: usize = 64 << 10;
/// The most updates that are delivered at once.
pub(super) const UPDATE_RUNS: usize = 1024;

/// The updates of one subscription that wait, in order.
#[derive(Debug, Default)]
pub(super) struct Pending(VecDeque<Update>);

impl Pending {
    pub(super) fn new(updates: Vec<Update>) -> Self {
        Self(updates.into())
    }

    pub(super) fn extend(&mut self, updates: Vec<Update>) {
        self.0.extend(updates);
    }

    /// The next updates; `None` if there are none.
    pub(super) fn take(&mut self) -> Option<Vec<Update>> {
        let mut bytes = 0;
        let fits = |update: &&Update| {
            bytes += size(update);
            bytes <= UPDATE_BYTES
        };
        let count = self.0.iter().take(UPDATE_RUNS).take_while(fits).count();
        let taken: Vec<_> = self.0.drain(..count.max(1).min(self.0.len())).collect();
        (!taken.is_empty()).then_some(taken)
    }
}

/// How many bytes an update has.
pub(super) fn size(update: &Update) -> usize {
    match update {
        Update::Events { run, .. } => run.bytes(),
        Update::Retained { request, .. } => request.len(),
        Update::Gap { .. } | Update::Instances(_) | Update::Change(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::server_id::ServerId;

    #[test]
    fn updates_are_delivered_in_order_and_at_most_so_much_at_once() {
        let server_id = ServerId::parse("a").unwrap();
        let retained = |(sequence, length): (u64, usize)| Update::Retained {
            server_id: server_id.clone(),
            sequence,
            request: Bytes::from(vec![b'x'; length]),
        };
        let lengths = [(1, 10), (2, UPDATE_BYTES * 2), (3, UPDATE_BYTES / 2), (4, UPDATE_BYTES / 2), (5, 1)];
        let mut pending = Pending::new(lengths.into_iter().map(retained).collect());
        let mut delivered = Vec::new();
        while let Some(updates) = pending.take() {
            delivered.push(updates.len());
        }
        assert_eq!(delivered, [1, 1, 2, 1]);
    }
}

//! A place in a stream.

/// A position in a stream, given by the last record or note before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The order number of the last record or note before the place; 0 if there is none.
    pub order: u64,
    /// The sequence number of the last record of log 0 before the place. If that record has no number of its own, the
    /// number of the last record before it that has one.
    pub sequence: u64,
    /// True if the last record of log 0 has a sequence number of its own. Also true if there is no such record yet.
    pub is_numbered: bool,
}

impl Place {
    /// The start of a stream whose first numbered record has this sequence number.
    #[must_use]
    pub const fn before(first_sequence: u64) -> Self {
        Self { order: 0, sequence: first_sequence.saturating_sub(1), is_numbered: true }
    }

    /// True if a reader that has seen everything up to `sequence` has not yet seen the last record before this place.
    pub(crate) const fn is_after(self, sequence: u64) -> bool {
        self.sequence > sequence || (self.sequence == sequence && !self.is_numbered)
    }
}

//! A place in a stream.

/// The end of everything up to some entry of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The order number of the last record or note; 0 before the first.
    pub order: u64,
    /// The sequence number of the last record of log 0, or of the last numbered record before it.
    pub sequence: u64,
    /// True when the sequence number is that record's own. Also true where there is no such record yet.
    pub is_numbered: bool,
}

impl Place {
    /// Before everything in a stream whose first numbered record has this sequence number.
    #[must_use]
    pub const fn before(first_sequence: u64) -> Self {
        Self { order: 0, sequence: first_sequence.saturating_sub(1), is_numbered: true }
    }

    /// True when a reader that has seen everything up to `sequence` has not seen the last record.
    pub(crate) const fn is_after(self, sequence: u64) -> bool {
        self.sequence > sequence || (self.sequence == sequence && !self.is_numbered)
    }
}

//! The measured values of one row: one value per round and side, or the reason why there is none.

use crate::Result;
use crate::context::Side;

/// The measurements of one row.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    sides: [Measured; Side::ALL.len()],
}

#[derive(Debug, Default)]
struct Measured {
    values: Vec<f64>,
    failure: Option<String>,
    note: Option<String>,
    falls_short: bool,
}

impl Samples {
    /// Adds the result of a round. A side that has failed once counts as failed.
    pub(crate) fn push(&mut self, side: Side, result: Result<f64>) {
        let measured = &mut self.sides[side.index()];
        match result {
            Ok(value) => measured.values.push(value),
            Err(error) => measured.failure = Some(error.to_string()),
        }
    }

    /// Adds a note about a side.
    pub(crate) fn note(&mut self, side: Side, note: String) {
        self.sides[side.index()].note = Some(note);
    }

    /// Marks a side as not meeting the row's requirement, whatever its values are.
    pub(crate) fn falls_short(&mut self, side: Side) {
        self.sides[side.index()].falls_short = true;
    }

    /// Whether a side meets the row's requirements other than its value.
    pub(crate) fn is_complete(&self, side: Side) -> bool {
        !self.has_failed(side) && !self.sides[side.index()].falls_short
    }

    pub(crate) fn has_failed(&self, side: Side) -> bool {
        self.failure(side).is_some()
    }

    pub(crate) fn failure(&self, side: Side) -> Option<&str> {
        self.sides[side.index()].failure.as_deref()
    }

    pub(crate) fn noted(&self, side: Side) -> Option<&str> {
        self.sides[side.index()].note.as_deref()
    }

    pub(crate) fn values(&self, side: Side) -> &[f64] {
        &self.sides[side.index()].values
    }

    /// A side's values divided by the limit's, round by round.
    pub(crate) fn ratios(&self, side: Side) -> Vec<f64> {
        self.values(side).iter().zip(self.values(Side::Limit)).map(|(value, limit)| value / limit).collect()
    }
}

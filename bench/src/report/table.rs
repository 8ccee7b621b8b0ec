//! The table, with one row per measured quantity.

use super::{Samples, Spread};
use crate::context::Side;

/// The goal of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// The ratio to the limit should be at least this.
    RatioAtLeast(f64),
    /// The ratio to the limit should be at most this.
    RatioAtMost(f64),
    /// The value should be at most this.
    AtMost(f64),
    /// The ratio to the limit should be at least this, with nothing lost.
    RatioAtLeastWithoutLoss(f64),
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    unit: &'static str,
    goal: Goal,
    samples: Samples,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, unit: &'static str, goal: Goal, samples: Samples) -> Self {
        Self { what: what.into(), unit, goal, samples }
    }

    /// The table's first two lines.
    pub(crate) const HEAD: &str = "| what | limit | peer | ours | ours (glibc) | goal | ours against it |\n\
                                   |---|---|---|---|---|---|---|\n";

    fn cell(&self, side: Side) -> String {
        if let Some(failure) = self.samples.failure(side) {
            return format!("fails: {failure}");
        }
        let values = self.samples.values(side);
        if values.is_empty() {
            return "-".to_owned();
        }
        let mut text = match self.goal {
            Goal::AtMost(_) => plain(Spread::of(values), self.unit),
            _ if side == Side::Limit => plain(Spread::of(values), self.unit),
            // There is no comparison when the limit could not be measured.
            _ if self.samples.has_failed(Side::Limit) => plain(Spread::of(values), self.unit),
            _ => Spread::of(&self.samples.ratios(side)).to_string(),
        };
        if let Some(note) = self.samples.noted(side) {
            text += &format!("; {note}");
        }
        text
    }

    fn goal(&self) -> String {
        match self.goal {
            Goal::RatioAtLeast(ratio) => format!("at least {ratio}"),
            Goal::RatioAtLeastWithoutLoss(ratio) => format!("at least {ratio}, none lost"),
            Goal::RatioAtMost(ratio) => format!("at most {ratio}"),
            Goal::AtMost(value) => format!("at most {} {}", number(value), self.unit),
        }
    }

    fn verdict(&self) -> &'static str {
        if self.samples.has_failed(Side::Limit) {
            return "not measured";
        }
        let reached = match self.goal {
            _ if !self.samples.is_complete(Side::Ours) => false,
            Goal::RatioAtLeast(ratio) | Goal::RatioAtLeastWithoutLoss(ratio) => {
                Spread::of(&self.samples.ratios(Side::Ours)).median >= ratio
            }
            Goal::RatioAtMost(ratio) => Spread::of(&self.samples.ratios(Side::Ours)).median <= ratio,
            Goal::AtMost(value) => Spread::of(self.samples.values(Side::Ours)).median <= value,
        };
        if reached { "reached" } else { "not reached" }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "| {} |", self.what)?;
        for side in Side::ALL {
            write!(formatter, " {} |", self.cell(side))?;
        }
        write!(formatter, " {} | {} |", self.goal(), self.verdict())
    }
}

fn plain(spread: Spread, unit: &str) -> String {
    format!("{} {unit}", number(spread.median))
}

/// Formats a number with three significant digits and thousands separators.
fn number(value: f64) -> String {
    if value < 100.0 {
        let text = format!("{value:.2}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

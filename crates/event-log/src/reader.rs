//! The only way to read records: a cursor that walks one or more logs.
//!
//! The records of a chunk have consecutive order numbers, so chunks of different logs never interleave. A
//! reader of several logs therefore receives whole runs in order and does not have to merge records.

use crate::chunk::Run;
use crate::log::Log;

/// The position of a reader in all logs that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// The order number of the newest record that the reader has seen.
    seen: u64,
    /// The sequence number of the newest numbered record that the reader has seen.
    seen_sequence: u64,
    /// For each log: evictions up to this order number need no report, because they were reported or happened
    /// before the reader's start.
    reported: [u64; MAX_LOGS],
}

/// The most logs that one reader can read.
const MAX_LOGS: usize = 2;

/// What one call of [`Reader::read`] returns.
#[derive(Debug)]
pub enum Read {
    /// The next records.
    Run(Run),
    /// Records that the reader has not seen were evicted.
    Gap(Gap),
    /// There is nothing to read until the logs change.
    Nothing,
}

/// A range of records that were evicted before a reader saw them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The sequence number of the last numbered record that the reader has seen.
    pub after_sequence: u64,
    /// The sequence number of the next numbered record that exists or will exist.
    pub next_sequence: u64,
    /// The order number of the last record that the reader has seen.
    pub after_order: u64,
    /// The order number of the next existing record; 0 if there is none.
    pub next_order: u64,
}

impl Reader {
    /// Starts at the oldest records that are held. Records evicted before are not reported as lost.
    #[must_use]
    pub fn at_oldest(logs: &[&Log]) -> Self {
        let seen_sequence = logs.first().map_or(0, |log| log.oldest_sequence() - 1);
        Self { seen: 0, seen_sequence, reported: evicted_of_each(logs) }
    }

    /// Starts after the newest records.
    #[must_use]
    pub fn at_newest(logs: &[&Log]) -> Self {
        let seen = logs.iter().map(|log| log.newest_order()).max().unwrap_or(0);
        let seen_sequence = logs.first().map_or(0, |log| log.next_sequence() - 1);
        Self { seen, seen_sequence, reported: [seen; MAX_LOGS] }
    }

    /// Starts after an order number. Records evicted after that number are reported as lost.
    #[must_use]
    pub const fn owed_from(order: u64) -> Self {
        Self::behind(order, 0)
    }

    /// Starts after an order number and a sequence number. Records after that place that were evicted are reported
    /// as lost.
    #[must_use]
    pub const fn behind(order: u64, sequence: u64) -> Self {
        Self { seen: order, seen_sequence: sequence, reported: [0; MAX_LOGS] }
    }

    /// Starts after the record of one log that has this sequence number. Returns `Err` with a gap if records
    /// after it were evicted, or if the log has no such number; the reader in the error continues with the
    /// records that are held.
    pub fn after_sequence(log: &Log, sequence: u64) -> Result<Self, (Self, Gap)> {
        let is_known = (log.first_sequence()..log.next_sequence()).contains(&sequence);
        if is_known && !log.evicted().is_after(sequence) {
            let seen = log.order_of_sequence(sequence);
            return Ok(Self { seen, seen_sequence: sequence, reported: [seen; MAX_LOGS] });
        }
        let mut reader = Self::at_oldest(&[log]);
        reader.seen_sequence = sequence;
        let gap = reader.gap(&[log], 0);
        reader.seen_sequence = gap.next_sequence - 1;
        Err((reader, gap))
    }

    /// Starts after the record that has this order number; `newest` is the newest number drawn so far.
    /// Returns `Err` with a gap if records after it were evicted, or if the number was never drawn.
    pub fn after_order(logs: &[&Log], order: u64, newest: u64) -> Result<Self, (Self, Gap)> {
        let seen_sequence = logs.first().map_or(0, |log| log.next_sequence() - 1);
        let mut reader = Self { seen: order, seen_sequence, reported: evicted_of_each(logs) };
        if order > newest {
            let gap = Gap { after_order: order, ..Self { seen: 0, ..reader }.gap(logs, 0) };
            reader.seen = 0;
            return Err((reader, gap));
        }
        if evicted(logs) > order {
            return Err((reader, reader.gap(logs, order)));
        }
        Ok(reader)
    }

    /// Returns the next records with order numbers up to `limit`, or a gap. Every call must pass the same
    /// logs.
    pub fn read(&mut self, logs: &[&Log], limit: u64) -> Read {
        let evicted = evicted_of_each(logs);
        let is_loss = |(evicted, reported): (&u64, &u64)| *evicted > (*reported).max(self.seen);
        if evicted.iter().zip(&self.reported).any(is_loss) {
            let gap = self.gap(logs, self.seen);
            self.reported = evicted;
            self.seen_sequence = gap.next_sequence - 1;
            return Read::Gap(gap);
        }
        let next = logs.iter().filter_map(|log| log.run_after(self.seen)).min_by_key(|run| run.first().order);
        match next.filter(|run| run.first().order <= limit) {
            Some(run) => {
                let last = run.last();
                self.seen = last.order;
                if last.sequence > self.seen_sequence {
                    self.seen_sequence = last.sequence;
                }
                Read::Run(run)
            }
            None => Read::Nothing,
        }
    }

    /// True if the logs hold records after the reader's position.
    #[must_use]
    pub fn has_more(&self, logs: &[&Log]) -> bool {
        logs.iter().any(|log| log.newest_order() > self.seen)
    }

    /// The order number of the newest record that the reader has seen.
    #[must_use]
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    /// Continues after records that the reader received from elsewhere.
    pub fn pass(&mut self, run: &Run) {
        let last = run.last();
        self.seen = self.seen.max(last.order);
        self.seen_sequence = self.seen_sequence.max(last.sequence);
    }

    /// The gap between the reader's position and a later record. Moves the reader to the place right before that
    /// record.
    pub fn gap_until(&mut self, next_order: u64, next_sequence: u64) -> Gap {
        let gap =
            Gap { after_sequence: self.seen_sequence, next_sequence, after_order: self.seen, next_order };
        self.seen = self.seen.max(next_order.saturating_sub(1));
        self.seen_sequence = self.seen_sequence.max(next_sequence.saturating_sub(1));
        gap
    }

    /// Moves the reader to an order number: forwards to skip records, or backwards to receive some again.
    pub const fn move_to(&mut self, order: u64) {
        self.seen = order;
    }

    /// Moves the reader back to the end of a part of the run that it read last.
    pub fn move_behind(&mut self, part: &Run) {
        let last = part.last();
        self.seen = last.order;
        self.seen_sequence = last.sequence;
    }

    fn gap(&self, logs: &[&Log], from: u64) -> Gap {
        let next = logs.iter().filter_map(|log| log.run_after(from)).map(|run| run.first().order).min();
        Gap {
            after_sequence: self.seen_sequence,
            next_sequence: logs.first().map_or(0, |log| log.oldest_sequence()),
            after_order: self.seen,
            next_order: next.unwrap_or(0),
        }
    }
}

/// The order number of the newest evicted record of each log.
fn evicted_of_each(logs: &[&Log]) -> [u64; MAX_LOGS] {
    debug_assert!(logs.len() <= MAX_LOGS);
    let mut evicted = [0; MAX_LOGS];
    for (slot, log) in evicted.iter_mut().zip(logs) {
        *slot = log.evicted().order;
    }
    evicted
}

/// The order number of the newest evicted record of all logs.
fn evicted(logs: &[&Log]) -> u64 {
    logs.iter().map(|log| log.evicted().order).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;

//! Reads events from an instance's journal that its log in memory no longer holds.

use std::io;
use std::sync::Arc;

use journal::{Found, StreamReader};

use super::shared::Shared;

/// A reader of a journal, with its position. Reads on a thread that may block.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The reader, and the order number up to which it has read. `None` before the first read, and after one that was
    /// abandoned halfway.
    reader: Option<(StreamReader, u64)>,
}

/// The result of one read.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) found: Vec<Found>,
    /// The order number of the last entry.
    pub(super) last_order: u64,
}

impl History {
    /// Reads about `max_bytes` of the events after an order number. Returns `None` if the journal ends there.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(super) async fn read_after(
        &mut self,
        order: u64,
        max_bytes: usize,
        shared: &Shared,
        open: impl FnOnce() -> io::Result<StreamReader> + Send + 'static,
    ) -> io::Result<Option<Batch>> {
        let turn = Arc::clone(&shared.history_reads).acquire_owned().await.map_err(io::Error::other)?;
        let (reader, account) = (self.reader.take(), Arc::clone(&shared.account));
        let read = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let mut reader = match reader {
                Some((reader, place)) if place == order => reader,
                _ => {
                    let mut reader = open()?;
                    reader.seek_after_order(order)?;
                    reader
                }
            };
            let found = reader.read(max_bytes, &account)?;
            Ok((reader, found))
        });
        let (reader, found) = read.await.unwrap_or_else(|error| Err(io::Error::other(error)))?;
        let Some(last_order) = found.iter().rev().find_map(order_of) else {
            return Ok(None);
        };
        self.reader = Some((reader, last_order));
        Ok(Some(Batch { found, last_order }))
    }
}

/// The order number of the last event of an entry, or of the event that a gap or note follows.
fn order_of(found: &Found) -> Option<u64> {
    match found {
        Found::Records { run, .. } => Some(run.last().order),
        Found::Note { order, .. } => Some(*order),
        // What follows the gap comes with the next entry.
        Found::Gap { .. } => None,
    }
}

//! Deletes records that exceed the limits on age and size: whole segments, oldest first.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::journal::Shared;
use crate::options::Options;
use crate::segment::Segment;
use crate::stream::{State, Stream};

/// The maximum number of streams without a writer. Each takes memory, however small it is.
const MAX_PAST_STREAMS: usize = 10_000;

impl Shared {
    /// Enforces all limits. The newest segment of a stream with a writer is never removed.
    pub(crate) fn retain(&self, now_ms: u64) {
        self.retain_within(&self.options, MAX_PAST_STREAMS, now_ms);
    }

    pub(crate) fn retain_within(&self, limits: &Options, max_past: usize, now_ms: u64) {
        let streams = self.all();
        let max_age_ms = u64::try_from(limits.max_age.as_millis()).unwrap_or(u64::MAX);
        let oldest_ms = now_ms.saturating_sub(max_age_ms);
        for stream in &streams {
            self.remove_oldest(stream, |state| {
                let is_too_old = |segment: &Segment| segment.last_at_ms < oldest_ms;
                let by_age = state.segments.iter().take_while(|segment| is_too_old(segment)).count();
                by_age.max(count_to_free(&state.segments, excess_of(state, limits)))
            });
        }
        self.retain_total(&streams, limits, max_past);
    }

    fn retain_total(&self, streams: &[Arc<Stream>], limits: &Options, max_past: usize) {
        let excess = || self.bytes.load(Ordering::Relaxed).saturating_sub(limits.max_bytes);
        let mut past = Vec::new();
        for stream in streams {
            let state = stream.lock();
            if !state.has_writer && !state.is_removed {
                let last_at_ms = state.segments.last().map_or(0, |segment| segment.last_at_ms);
                // A stream that was not closed may still be resumed, so it is deleted after the closed ones.
                past.push((!state.is_closed, last_at_ms, stream));
            }
        }
        if excess() == 0 && past.len() <= max_past {
            return;
        }
        past.sort_by_key(|(is_open, last_at_ms, _)| (*is_open, *last_at_ms));
        let too_many = past.len().saturating_sub(max_past);
        for (index, (_, _, stream)) in past.iter().enumerate() {
            let bytes = if index < too_many { u64::MAX } else { excess() };
            if bytes == 0 {
                return;
            }
            self.remove_oldest(stream, |state| count_to_free(&state.segments, bytes));
        }
        let mut oldest: Vec<_> = streams
            .iter()
            .flat_map(|stream| {
                let segments = stream.lock().segments.clone();
                segments.into_iter().map(move |segment| (segment.last_at_ms, segment.number, stream))
            })
            .collect();
        oldest.sort_by_key(|(last_at_ms, number, _)| Reverse((*last_at_ms, *number)));
        while excess() > 0
            && let Some((_, number, stream)) = oldest.pop()
        {
            self.remove_oldest(stream, |state| {
                state.segments.partition_point(|segment| segment.number <= number)
            });
        }
    }

    /// Removes the oldest segments of a stream: as many as `count` returns. Also removes the stream itself if it
    /// has no segment and no writer then.
    fn remove_oldest(&self, stream: &Stream, count: impl FnOnce(&State) -> usize) {
        let (removed, is_over) = {
            let mut state = stream.lock();
            let removable = state.segments.len().saturating_sub(usize::from(state.has_writer));
            let count = count(&state).min(removable);
            let removed: Vec<_> = state.segments.drain(..count).collect();
            let is_over = state.segments.is_empty() && !state.has_writer;
            state.is_removed |= is_over;
            state.is_catalogued &= removed.is_empty();
            (removed, is_over)
        };
        for segment in removed {
            self.bytes.fetch_sub(segment.on_disk(), Ordering::Relaxed);
            self.report(std::fs::remove_file(self.segment_path(&stream.id, segment.number)));
        }
        if is_over {
            self.forget(&stream.id);
            self.report(std::fs::remove_dir(self.directory_of(&stream.id)));
        }
    }

    fn report(&self, result: io::Result<()>) {
        match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.counters.count_error();
                tracing::warn!(%error, "a part of the journal could not be removed");
            }
            _ => {}
        }
    }
}

/// By how many bytes a stream exceeds its limit. 0 if it has only one segment, which cannot be divided.
fn excess_of(state: &State, limits: &Options) -> u64 {
    let bytes: u64 = state.segments.iter().map(Segment::on_disk).sum();
    if state.segments.len() < 2 { 0 } else { bytes.saturating_sub(limits.max_bytes_per_stream) }
}

/// How many of the oldest segments have to be deleted to free this many bytes.
fn count_to_free(segments: &[Segment], mut bytes: u64) -> usize {
    let mut count = 0;
    while bytes > 0 && count < segments.len() {
        bytes = bytes.saturating_sub(segments[count].on_disk());
        count += 1;
    }
    count
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;

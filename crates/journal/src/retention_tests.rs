use std::path::Path;
use std::time::Duration;

use super::*;
use crate::testing::*;
use crate::*;

/// A journal whose background thread deletes nothing during the tests, since all records are within its limits.
fn journal(directory: &Path) -> Journal {
    open(directory).journal
}

/// A stream with this many segments of one record each. The n-th record is of second 1, millisecond n.
fn stream(journal: &Journal, name: &str, first_order: u64, segments: u64) -> StreamWriter {
    let mut writer = journal.create(&id(name), b"").unwrap();
    for index in 0..segments {
        if index > 0 {
            writer.start_segment(b"").unwrap();
        }
        writer.append(&[records(0, first_order + index, 100 + index, &["x"])]).unwrap();
    }
    writer
}

/// The numbers of a stream's segments. Asserts that as many files are on the disk.
fn segments(journal: &Journal, name: &str) -> Vec<u64> {
    let shared = journal.shared();
    let all = shared.all();
    let Some(stream) = all.iter().find(|stream| *stream.id.name == *name) else { return Vec::new() };
    let numbers: Vec<_> = stream.lock().segments.iter().map(|segment| segment.number).collect();
    let files = std::fs::read_dir(shared.directory_of(&stream.id)).unwrap().count();
    assert_eq!(files, numbers.len());
    numbers
}

/// Enforces retention with changed limits, and asserts that the journal's total size is right.
fn retain(journal: &Journal, now_ms: u64, change: impl FnOnce(&mut Options)) {
    let shared = journal.shared();
    let mut options = shared.options.clone();
    change(&mut options);
    shared.retain_within(&options, MAX_PAST_STREAMS, now_ms);
    let streams = shared.all();
    assert_eq!(streams.iter().map(|stream| stream.on_disk()).sum::<u64>(), journal.stats().bytes);
}

const BLOCK: u64 = 4096;

#[test]
fn a_stream_over_its_limit_loses_its_oldest_segments_and_readers_receive_a_gap() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(directory.path());
    let writer = stream(&journal, "a", 1, 5);
    let (mut late, mut early) = (journal.reader(writer.id()).unwrap(), journal.reader(writer.id()).unwrap());
    assert_eq!(early.read(1, &account()).unwrap().len(), 1);
    retain(&journal, 0, |options| options.max_bytes_per_stream = 2 * BLOCK);
    assert_eq!(segments(&journal, "a"), [4, 5]);
    assert_eq!(all(&mut early), ["gap 1 100 4 103", "4 103 x", "5 104 x"]);
    late.seek_after_order(3).unwrap();
    assert_eq!(all(&mut late), ["4 103 x", "5 104 x"]);
    late.seek_after_order(2).unwrap();
    assert_eq!(all(&mut late), ["gap 2 0 4 103", "4 103 x", "5 104 x"]);
    late.seek_after_order(0).unwrap();
    assert_eq!(all(&mut late), ["4 103 x", "5 104 x"]);
    let places: Vec<_> = (101..104).map(|sequence| late.order_of_sequence(sequence).unwrap()).collect();
    assert_eq!(places, [None, Some(3), Some(4)]);

    retain(&journal, 0, |options| options.max_bytes_per_stream = 0);
    assert_eq!(segments(&journal, "a"), [5], "the newest segment of an open stream is kept");
    assert_eq!(journal.find("a").unwrap().oldest_sequence, 104);
}

#[test]
fn old_segments_are_removed_and_past_streams_that_have_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(directory.path());
    let open = stream(&journal, "open", 1, 3);
    let mut past = stream(&journal, "past", 10, 3);
    past.close().unwrap();
    drop(past);
    drop(stream(&journal, "crashed", 20, 2));
    // The record with order number 12 has the time 1.012 s.
    retain(&journal, 1012 + 60_000, |options| options.max_age = Duration::from_secs(60));
    assert_eq!((segments(&journal, "open"), segments(&journal, "past")), (vec![3], vec![3]));
    assert_eq!(segments(&journal, "crashed"), [1, 2]);
    retain(&journal, 1022 + 60_000, |options| options.max_age = Duration::from_secs(60));
    let names: Vec<_> = journal.streams().into_iter().map(|info| info.id.name.to_string()).collect();
    assert_eq!(names, ["open"]);
    assert_eq!(std::fs::read_dir(directory.path().join("streams")).unwrap().count(), 1);
    drop(open);
}

#[test]
fn past_streams_are_deleted_first_then_the_oldest_segments_of_open_ones() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(directory.path());
    let open = [stream(&journal, "a", 1, 3), stream(&journal, "b", 2, 3)];
    drop(stream(&journal, "crashed", 5, 2));
    for (name, order) in [("new", 40), ("old", 30)] {
        stream(&journal, name, order, 2).close().unwrap();
    }
    let held = |max_segments: u64| {
        retain(&journal, 0, |options| options.max_bytes = max_segments * BLOCK);
        ["a", "b", "crashed", "new", "old"].map(|name| segments(&journal, name).len())
    };
    assert_eq!(held(12), [3, 3, 2, 2, 2]);
    assert_eq!(held(11), [3, 3, 2, 2, 1]);
    assert_eq!(held(9), [3, 3, 2, 1, 0]);
    assert_eq!(held(7), [3, 3, 1, 0, 0]);
    assert_eq!(held(5), [2, 3, 0, 0, 0]);
    assert_eq!(held(4), [2, 2, 0, 0, 0]);
    assert_eq!(held(0), [1, 1, 0, 0, 0]);
    drop(open);
}

#[test]
fn the_number_of_past_streams_is_limited() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(directory.path());
    let open = stream(&journal, "open", 1, 1);
    for order in 2..7 {
        stream(&journal, &format!("past{order}"), order, 2).close().unwrap();
    }
    let shared = journal.shared();
    shared.retain_within(&shared.options, 2, 0);
    let mut names: Vec<_> = journal.streams().into_iter().map(|info| info.id.name.to_string()).collect();
    names.sort();
    assert_eq!(names, ["open", "past5", "past6"]);
    drop(open);
}

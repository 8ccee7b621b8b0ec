use std::fs::OpenOptions;

use super::*;
use crate::testing::*;
use crate::*;

#[test]
fn a_round_syncs_few_and_many_streams() {
    for count in [1, MANY_FILES + 4] {
        let directory = tempfile::tempdir().unwrap();
        let journal = open(directory.path()).journal;
        let mut writers = Vec::new();
        for index in 0..count {
            let mut writer = journal.create(&id(&format!("a{index}")), b"").unwrap();
            writer.append(&[records(0, 1, 100, &["x"])]).unwrap();
            writer.start_segment(b"").unwrap();
            writer.append(&[records(0, 2, 101, &["y"])]).unwrap();
            writers.push(writer);
        }
        let written_at_ms = now_ms();
        journal.sync_and_retain();
        assert!(journal.stats().last_sync_at_ms >= written_at_ms);
        for stream in journal.shared().all() {
            let state = stream.lock();
            assert!(!state.is_dirty && !state.is_directory_dirty && state.unsynced.is_empty());
        }
    }
}

#[test]
fn files_that_cannot_be_synced_are_retried_and_not_in_the_catalogue() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    journal.sync_and_retain();
    let stream = journal.shared().all().remove(0);
    // A device that can be written but not synced.
    let device = Arc::new(OpenOptions::new().write(true).open("/dev/null").unwrap());
    let file = stream.lock().file.replace(device);
    writer.append(&[records(0, 1, 100, &["x"])]).unwrap();
    journal.sync_and_retain();
    let before = journal.stats();
    for _ in 0..3 {
        stream.lock().note_write(SyncMode::EverySecond);
        journal.sync_and_retain();
        let state = stream.lock();
        assert_eq!((state.is_dirty, state.unsynced.len()), (true, 0));
        assert_eq!(catalogued_order(directory.path()), 0);
    }
    let after = journal.stats();
    assert!(after.write_errors >= before.write_errors + 3, "{after:?}");
    assert_eq!(after.last_sync_at_ms, before.last_sync_at_ms);
    stream.lock().file = file;
    journal.sync_and_retain();
    assert!(journal.stats().last_sync_at_ms > before.last_sync_at_ms);
    assert_eq!(catalogued_order(directory.path()), 1);
}

fn catalogued_order(directory: &std::path::Path) -> i64 {
    let connection = rusqlite::Connection::open(directory.join("catalogue.sqlite")).unwrap();
    connection.query_row("SELECT last_order FROM streams", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_removed_stream_is_not_synced() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["x"])]).unwrap();
    let work = Work::of(journal.shared().all().remove(0)).unwrap();
    journal.remove(&id("a")).unwrap();
    assert!(journal.shared().sync_stream(&work).is_ok());
}

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

use super::*;
use crate::testing::*;
use crate::*;

/// A file to which every write fails as on a full disk.
fn full() -> Arc<File> {
    Arc::new(OpenOptions::new().append(true).open("/dev/full").unwrap())
}

#[test]
fn after_a_failed_append_a_new_segment_continues_without_a_gap() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    let mut reader = journal.reader(writer.id()).unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    writer.stream.lock().file = Some(full());
    let error = writer.append(&[records(0, 2, 101, &["lost"])]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    // The device cannot be truncated either, so the segment cannot be used any more.
    assert!(writer.wants_segment() && writer.append(&[records(0, 2, 101, &["lost"])]).is_err());
    assert_eq!((journal.stats().write_errors, journal.find("a").unwrap().last_order), (1, 1));
    writer.start_segment(b"").unwrap();
    writer.append(&[records(0, 2, 101, &["b"])]).unwrap();
    assert_eq!(all(&mut reader), ["1 100 a", "2 101 b"]);
}

#[test]
fn bytes_of_a_failed_append_are_truncated() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    // A file that cannot grow: a part is written, then the next write fails.
    let flags = rustix::fs::MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create("segment", flags).unwrap());
    let page = rustix::param::page_size() as u64;
    file.set_len(2 * page).unwrap();
    rustix::fs::fcntl_add_seals(&file, rustix::fs::SealFlags::GROW).unwrap();
    let good = writer.length;
    file.seek(SeekFrom::Start(good)).unwrap();
    let file = Arc::new(file);
    writer.stream.lock().file = Some(Arc::clone(&file));
    let text = "x".repeat(3 * usize::try_from(page).unwrap());
    assert!(writer.append(&[records(0, 2, 101, &[&text])]).is_err());
    assert_eq!(file.metadata().unwrap().len(), good);
    let mut seen = Vec::new();
    (&*file).seek(SeekFrom::Start(0)).unwrap();
    (&*file).read_to_end(&mut seen).unwrap();
    assert_eq!(seen.len() as u64, good);
    assert!(!writer.wants_segment(), "the segment can still be used");

    writer.stream.lock().file = None;
    writer.append(&[records(0, 2, 101, &["b"])]).unwrap();
    assert_eq!(all(&mut journal.reader(writer.id()).unwrap()), ["1 100 a", "2 101 b"]);
}

#[test]
fn with_full_sync_a_segment_is_over_after_a_failed_write_even_if_it_can_be_truncated() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { sync: SyncMode::Full, max_age: Duration::MAX, ..Options::new(directory.path()) };
    let journal = Journal::open(options).unwrap().journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    let flags = rustix::fs::MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create("segment", flags).unwrap());
    file.set_len(writer.length).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    rustix::fs::fcntl_add_seals(&file, rustix::fs::SealFlags::GROW).unwrap();
    writer.stream.lock().file = Some(Arc::new(file));
    assert!(writer.append(&[records(0, 1, 100, &["lost"])]).is_err());
    assert!(writer.wants_segment());
}

#[test]
fn files_of_closed_and_of_dropped_streams_are_closed_and_synced() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut closed = journal.create(&id("closed"), b"").unwrap();
    closed.close().unwrap();
    let mut dropped = journal.create(&id("dropped"), b"").unwrap();
    dropped.append(&[records(0, 1, 100, &["a"])]).unwrap();
    drop(dropped);
    assert_eq!(journal.stats().open_files, 0);
    let closed_at_ms = now_ms();
    journal.sync_and_retain();
    let stats = journal.stats();
    assert!(stats.last_sync_at_ms >= closed_at_ms && stats.write_errors == 0, "{stats:?}");
    assert!(journal.info(&id("closed")).unwrap().is_closed);
}

#[test]
fn with_full_sync_nothing_follows_a_failed_write_in_the_same_segment() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { sync: SyncMode::Full, max_age: Duration::MAX, ..Options::new(directory.path()) };
    let journal = Journal::open(options).unwrap().journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    // A file that can be written but not synced.
    writer.stream.lock().file = Some(Arc::new(OpenOptions::new().append(true).open("/dev/null").unwrap()));
    assert!(writer.append(&[records(0, 2, 101, &["lost"])]).is_err());
    assert!(writer.wants_segment());
    writer.start_segment(b"checkpoint").unwrap();
    writer.append(&[records(0, 2, 101, &["b"])]).unwrap();
    writer.close().unwrap();
    assert_eq!(all(&mut journal.reader(writer.id()).unwrap()), ["1 100 a", "2 101 b"]);
}

#[test]
fn starting_a_segment_can_be_retried_after_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    let (streams, elsewhere) = (directory.path().join("streams"), directory.path().join("elsewhere"));
    std::fs::rename(&streams, &elsewhere).unwrap();
    std::fs::write(&streams, b"in the way").unwrap();
    assert!(writer.start_segment(b"checkpoint").is_err());
    assert!(journal.create(&id("b"), b"").is_err());
    assert_eq!((journal.stats().write_errors, journal.streams().len()), (2, 1));
    std::fs::remove_file(&streams).unwrap();
    std::fs::rename(&elsewhere, &streams).unwrap();
    writer.start_segment(b"checkpoint").unwrap();
    writer.append(&[records(0, 2, 101, &["b"])]).unwrap();
    assert_eq!(all(&mut journal.reader(writer.id()).unwrap()), ["1 100 a", "2 101 b"]);
    journal.create(&id("b"), b"").unwrap();
}

#[test]
fn a_full_segment_requires_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    let text = "x".repeat(1000);
    let mut order = 0;
    while !writer.wants_segment() {
        order += 1;
        writer.append(&[records(0, order, 99 + order, &[&text])]).unwrap();
    }
    assert_eq!(order, 4);
    let bytes = journal.find("a").unwrap().bytes;
    assert_eq!(
        (writer.length, bytes),
        (bytes, directory.path().join("streams/100-a/0000000000000001.seg").metadata().unwrap().len())
    );
    writer.append(&[records(0, 5, 104, &["full, and written all the same"])]).unwrap();
    writer.start_segment(b"checkpoint").unwrap();
    assert!(!writer.wants_segment());
}

#[test]
fn an_idle_stream_holds_no_file_descriptor() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    assert_eq!(journal.stats().open_files, 1);
    for _ in 0..8 {
        journal.sync_and_retain();
    }
    assert_eq!(journal.stats().open_files, 0);
    writer.append(&[records(0, 2, 101, &["b"])]).unwrap();
    assert_eq!(journal.stats().open_files, 1);
    assert_eq!(all(&mut journal.reader(writer.id()).unwrap()), ["1 100 a", "2 101 b"]);
    let stats = journal.stats();
    assert_eq!((stats.streams, stats.open_streams, stats.segments, stats.bytes), (1, 1, 1, 4096));
    assert!((100..2000).contains(&stats.memory_bytes), "{}", stats.memory_bytes);
    drop(writer);
    assert_eq!(journal.stats().open_streams, 0);
}

#[test]
fn the_journal_syncs_without_a_call() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    let written_at_ms = now_ms();
    let deadline = Instant::now() + Duration::from_secs(60);
    while journal.stats().last_sync_at_ms < written_at_ms {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!writer.stream.lock().is_dirty);
}

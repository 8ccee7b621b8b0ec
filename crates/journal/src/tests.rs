//! Tests of the journal's public interface.

use std::os::unix::fs::PermissionsExt;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::testing::*;
use crate::*;

#[test]
fn every_reader_reads_all_entries_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"label").unwrap();
    let mut early = journal.reader(writer.id()).unwrap();
    assert!(all(&mut early).is_empty());
    writer.append(&[records(1, 10, 99, &["sent"]), records(0, 12, 100, &["one", "two"])]).unwrap();
    assert_eq!(all(&mut early), ["10 99 sent", "12 100 one", "13 101 two"]);
    writer.append(&[note(13, "noted"), records(0, 14, 102, &["three"])]).unwrap();
    assert_eq!(all(&mut early), ["13 note 5 noted", "14 102 three"]);
    let mut late = journal.reader(writer.id()).unwrap();
    assert_eq!(all(&mut late).len(), 5);
    late.seek_after_order(12).unwrap();
    assert_eq!(all(&mut late), ["13 101 two", "13 note 5 noted", "14 102 three"]);

    let info = journal.find("a").unwrap();
    assert_eq!((&info.id, &info.label[..], info.is_closed), (&id("a"), &b"label"[..], false));
    assert_eq!((info.first_order, info.last_order), (10, 14));
    assert_eq!((info.oldest_sequence, info.last_sequence, info.last_is_numbered), (100, 102, true));
    assert_eq!((info.first_at_ms, info.last_at_ms), (1010, 1014));
    assert_eq!(journal.streams(), [info]);
    assert!(journal.find("b").is_none());
}

#[test]
fn entries_must_be_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 12, 100, &["one"])]).unwrap();
    for late in [records(0, 12, 101, &["x"]), note(11, "x")] {
        assert_eq!(writer.append(&[late]).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
    assert!(!writer.wants_segment());
    assert_eq!(all(&mut journal.reader(writer.id()).unwrap()), ["12 100 one"]);
}

#[test]
fn a_reader_finds_the_order_number_of_a_sequence_number() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(1, 1, 99, &["sent"]), records(0, 12, 100, &["a", "b", "c"])]).unwrap();
    writer.append(&[records(1, 20, 102, &["sent"]), records(0, 30, 103, &["d"])]).unwrap();
    writer.start_segment(b"checkpoint").unwrap();
    writer.append(&[records(0, 40, 104, &["e", "f"])]).unwrap();
    let mut reader = journal.reader(writer.id()).unwrap();
    let found: Vec<_> = (98..107).map(|sequence| reader.order_of_sequence(sequence).unwrap()).collect();
    let expected = [None, Some(0), Some(12), Some(13), Some(14), Some(30), Some(40), Some(41), None];
    assert_eq!(found, expected);
}

#[test]
fn after_a_crash_a_stream_is_resumed_from_its_newest_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    {
        let journal = open(directory.path()).journal;
        let mut writer = journal.create(&id("a"), b"label").unwrap();
        writer.append(&[records(0, 1, 100, &["a"]), note(1, "n")]).unwrap();
        let mut other = journal.create(&id("b"), b"").unwrap();
        other.append(&[records(0, 2, 100, &["other"])]).unwrap();
        writer.start_segment(b"checkpoint").unwrap();
        writer.append(&[records(0, 3, 101, &["b"]), note(3, "m")]).unwrap();
    }
    let Opened { journal, streams, set_aside } = open(directory.path());
    assert_eq!((streams.len(), set_aside.len()), (2, 0));
    assert!(streams.iter().all(|info| !info.is_closed && !info.has_writer));
    let Resumed { mut writer, checkpoint, replay } = journal.resume(&id("a"), &account()).unwrap();
    assert_eq!(checkpoint.as_deref(), Some(&b"checkpoint"[..]));
    let replayed: Vec<_> = replay.map(Result::unwrap).collect();
    assert!(matches!(&replayed[..], [
        Entry::Records { log: 0, run, stream_offset: 300 },
        Entry::Note { tag: 5, order: 3, .. }
    ] if run.first().bytes == b"b"));
    writer.append(&[records(0, 4, 102, &["c"])]).unwrap();
    let expected = ["1 100 a", "1 note 5 n", "3 101 b", "3 note 5 m", "4 102 c"];
    assert_eq!(all(&mut journal.reader(&id("a")).unwrap()), expected);

    let busy = journal.resume(&id("a"), &account()).unwrap_err();
    assert_eq!(busy.kind(), std::io::ErrorKind::ResourceBusy);
    let Resumed { checkpoint, replay, .. } = journal.resume(&id("b"), &account()).unwrap();
    assert_eq!((checkpoint, replay.count()), (None, 1));
}

#[test]
fn a_closed_stream_stays_closed() {
    let directory = tempfile::tempdir().unwrap();
    {
        let journal = open(directory.path()).journal;
        let mut writer = journal.create(&id("a"), b"").unwrap();
        writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
        writer.close().unwrap();
        writer.close().unwrap();
        assert!(writer.append(&[records(0, 2, 101, &["b"])]).is_err());
        assert!(journal.find("a").unwrap().is_closed);
    }
    let Opened { journal, streams, .. } = open(directory.path());
    assert!(streams[0].is_closed);
    assert_eq!(all(&mut journal.reader(&id("a")).unwrap()), ["1 100 a"]);
    assert!(journal.resume(&id("a"), &account()).is_err());
    assert!(journal.create(&id("a"), b"").is_err());
    journal.create(&StreamId { first_sequence: 200, ..id("a") }, b"").unwrap();
    assert_eq!(journal.find("a").unwrap().id.first_sequence, 200);
}

#[test]
fn a_reader_receives_a_gap_for_records_that_the_writer_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    let mut reader = journal.reader(writer.id()).unwrap();
    assert_eq!(all(&mut reader).len(), 1);
    writer.skip_to(Place { order: 5, sequence: 103, is_numbered: true });
    assert!(writer.wants_segment() && writer.append(&[records(0, 6, 104, &["b"])]).is_err());
    writer.start_segment(b"").unwrap();
    writer.append(&[records(0, 6, 104, &["b"])]).unwrap();
    let expected = ["gap 1 100 6 104", "6 104 b"];
    assert_eq!(all(&mut reader), expected);
    reader.seek_after_order(3).unwrap();
    assert_eq!(all(&mut reader), ["gap 3 100 6 104", "6 104 b"]);
    let found: Vec<_> = (99..105).map(|sequence| reader.order_of_sequence(sequence).unwrap()).collect();
    assert_eq!(found, [Some(0), Some(1), None, None, Some(5), Some(6)]);
}

#[test]
fn a_removed_stream_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    let mut reader = journal.reader(writer.id()).unwrap();
    assert!(journal.stats().bytes > 0);
    journal.remove(&id("a")).unwrap();
    assert!(all(&mut reader).is_empty());
    assert!(writer.append(&[records(0, 2, 101, &["b"])]).is_err());
    assert!(writer.start_segment(b"").is_err());
    assert_eq!((journal.streams().len(), journal.stats().bytes), (0, 0));
    assert_eq!(std::fs::read_dir(directory.path().join("streams")).unwrap().count(), 0);
}

#[test]
fn a_journal_has_one_user_and_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = open(&path).journal;
    let second = Journal::open(Options::new(&path)).unwrap_err();
    assert!(matches!(second, OpenError::Locked { directory } if directory == path));
    let writer = journal.create(&id("a"), b"").unwrap();
    drop(journal);
    assert!(Journal::open(Options::new(&path)).is_err(), "a writer still holds the journal");
    drop(writer);
    open(&path);
    let mode = |below: &str| path.join(below).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("streams"), mode("streams/100-a")), (0o700, 0o700, 0o700));
    assert_eq!((mode("lock"), mode("streams/100-a/0000000000000001.seg")), (0o600, 0o600));
}

#[test]
fn a_newer_format_is_refused_and_nothing_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let segment = directory.path().join("streams/100-a/0000000000000001.seg");
    let journal = open(directory.path()).journal;
    drop(journal.create(&id("a"), b"").unwrap());
    drop(journal);
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[8] = 2;
    bytes.truncate(20);
    std::fs::write(&segment, &bytes).unwrap();
    let error = Journal::open(Options::new(directory.path())).unwrap_err();
    assert!(matches!(error, OpenError::NewerFormat { found: 2, supported: 1, ref path } if *path == segment));
    assert_eq!(std::fs::read(&segment).unwrap(), bytes);
}

#[test]
fn a_reader_receives_a_gap_where_sequence_numbers_are_missing() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"]), records(0, 5, 104, &["b"])]).unwrap();
    let mut reader = journal.reader(writer.id()).unwrap();
    let expected = ["gap 1 100 5 104", "5 104 b"];
    assert_eq!(all(&mut reader)[1..], expected);
    reader.seek_after_order(1).unwrap();
    // The gap comes with what follows it.
    assert_eq!(reader.read(1, &account()).unwrap().len(), 2);
}

#[test]
fn readers_receive_every_record_once_or_a_gap_while_segments_are_written_and_removed() {
    const LAST: u64 = 4000;
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 4096,
        max_bytes_per_stream: 32 << 10,
        max_age: Duration::MAX,
        ..Options::new(directory.path())
    };
    let journal = Journal::open(options).unwrap().journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    let readers: Vec<_> = (0..2).map(|_| journal.reader(writer.id()).unwrap()).collect();
    let is_over = AtomicBool::new(false);
    let deadline = Instant::now() + Duration::from_secs(120);
    std::thread::scope(|scope| {
        for mut reader in readers {
            scope.spawn(move || {
                let mut seen = 0;
                while seen < LAST {
                    assert!(Instant::now() < deadline, "{seen}");
                    for found in reader.read(1 << 10, &account()).unwrap() {
                        match found {
                            Found::Records { run, .. } => {
                                assert_eq!(run.first().order, seen + 1);
                                seen = run.last().order;
                            }
                            Found::Gap { after_order, next_sequence, .. } => {
                                assert_eq!(after_order, seen);
                                // In this stream the sequence numbers are 99 more than the order numbers.
                                seen = next_sequence - 100;
                            }
                            Found::Note { .. } => panic!("there are no notes"),
                        }
                    }
                }
            });
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                journal.sync_and_retain();
            }
        });
        for order in 1..=LAST {
            if writer.wants_segment() {
                writer.start_segment(b"checkpoint").unwrap();
            }
            writer.append(&[records(0, order, 99 + order, &["some text"])]).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(journal.stats().segments > 1);
}

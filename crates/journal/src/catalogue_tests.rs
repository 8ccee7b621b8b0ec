use std::path::{Path, PathBuf};

use super::*;
use crate::testing::*;
use crate::*;

fn segment(directory: &Path, name: &str, number: u64) -> PathBuf {
    directory.join(format!("streams/100-{name}/{number:016}.seg"))
}

fn catalogue(directory: &Path) -> PathBuf {
    directory.join("catalogue.sqlite")
}

/// Writes a closed stream and an open one, with two segments each.
fn write_two(directory: &Path) -> Vec<StreamInfo> {
    let journal = open(directory).journal;
    for name in ["closed", "open"] {
        let mut writer = journal.create(&id(name), b"label").unwrap();
        writer.append(&[records(1, 1, 99, &["sent"]), records(0, 2, 100, &["a", "b"])]).unwrap();
        journal.sync_and_retain();
        writer.start_segment(b"checkpoint").unwrap();
        writer.append(&[records(0, 4, 102, &["c"])]).unwrap();
        if name == "closed" {
            writer.close().unwrap();
        }
    }
    journal.streams()
}

/// Changes a byte in the last record of a segment.
fn damage(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn segments_that_the_catalogue_knows_are_not_read_at_a_start() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let before = write_two(directory);
    damage(&segment(directory, "closed", 1));
    damage(&segment(directory, "open", 1));
    let Opened { journal, streams, set_aside } = open(directory);
    assert_eq!((streams, set_aside), (before, Vec::new()));
    // The damage is found only when the segment is read.
    let mut reader = journal.reader(&id("closed")).unwrap();
    assert_eq!(all(&mut reader), ["1 99 sent", "gap 1 99 4 102", "4 102 c"]);
    drop((reader, journal));

    std::fs::remove_file(catalogue(directory)).unwrap();
    let Opened { streams, .. } = open(directory);
    let held: Vec<_> =
        streams.iter().map(|info| (&*info.id.name, info.first_order, info.last_order)).collect();
    assert_eq!(held, [("open", 1, 4), ("closed", 1, 4)]);
    let bytes = |segments: [u64; 2], name| {
        segments.map(|number| segment(directory, name, number).metadata().unwrap().len())
    };
    assert_eq!(streams[0].bytes, bytes([1, 2], "open").iter().sum::<u64>());
}

#[test]
fn the_newest_segment_of_an_open_stream_is_always_read() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_two(directory);
    damage(&segment(directory, "open", 2));
    let Opened { streams, .. } = open(directory);
    assert_eq!((&*streams[0].id.name, streams[0].last_order), ("open", 3));
}

#[test]
fn when_the_newest_segment_is_unusable_the_one_before_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_two(directory);
    damage(&segment(directory, "open", 1));
    std::fs::write(segment(directory, "open", 2), "not a segment").unwrap();
    let Opened { streams, set_aside, .. } = open(directory);
    assert_eq!((&*streams[0].id.name, streams[0].last_order), ("open", 1));
    assert_eq!(set_aside[0].reason, "it is not a segment");
}

#[test]
fn removed_segments_leave_the_catalogue() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
    writer.start_segment(b"").unwrap();
    journal.sync_and_retain();
    let numbers = || {
        let known = Catalogue::open(&catalogue(directory.path())).unwrap().find(&id("a"));
        known.segments.iter().map(|segment| segment.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(), [1, 2]);
    journal.shared().retain_within(&Options { max_bytes: 0, ..Options::new("") }, usize::MAX, 0);
    journal.sync_and_retain();
    assert_eq!(numbers(), [2]);
}

#[test]
fn an_outdated_catalogue_is_updated() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_two(directory);
    let old = std::fs::read(catalogue(directory)).unwrap();
    let expected = {
        let journal = open(directory).journal;
        let Resumed { mut writer, .. } = journal.resume(&id("open"), &account()).unwrap();
        writer.append(&[records(0, 5, 103, &["d"])]).unwrap();
        writer.start_segment(b"").unwrap();
        writer.append(&[records(0, 6, 104, &["e"])]).unwrap();
        writer.close().unwrap();
        journal.remove(&id("closed")).unwrap();
        journal.streams()
    };
    std::fs::write(catalogue(directory), old).unwrap();
    let journal = open(directory).journal;
    let without_writer = |info: &StreamInfo| StreamInfo { has_writer: false, ..info.clone() };
    assert_eq!(journal.streams(), expected.iter().map(without_writer).collect::<Vec<_>>());
    drop(journal);
    let catalogue = Catalogue::open(&catalogue(directory)).unwrap();
    assert_eq!(catalogue.streams().unwrap(), [id("open")]);
    let known = catalogue.find(&id("open"));
    assert_eq!((known.is_closed, known.segments.len()), (true, 3));
}

#[test]
fn a_corrupt_catalogue_is_set_aside_and_rebuilt() {
    for damage in [
        (|path: &Path| {
            std::fs::write(path, b"This is not a database, but long enough to be one. ".repeat(100)).unwrap();
        }) as fn(&Path),
        |path| {
            let mut bytes = std::fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..].fill(0x55);
            std::fs::write(path, bytes).unwrap();
        },
        |path| {
            Connection::open(path).unwrap().execute_batch("ALTER TABLE streams DROP COLUMN bytes").unwrap();
        },
        |path| Connection::open(path).unwrap().execute_batch("DELETE FROM schema_version").unwrap(),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let before = write_two(directory);
        damage(&catalogue(directory));
        let Opened { streams, set_aside, .. } = open(directory);
        assert_eq!(streams, before);
        let [SetAside { path, reason }] = &set_aside[..] else { panic!("{set_aside:?}") };
        assert_eq!(*path, directory.join("set-aside/catalogue.sqlite"));
        assert!(path.exists() && !reason.is_empty());
        let Opened { streams, set_aside, .. } = open(directory);
        assert_eq!((streams, set_aside.len()), (before, 0));
    }
}

#[test]
fn a_newer_catalogue_is_refused_and_nothing_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_two(directory);
    let torn = segment(directory, "open", 2);
    std::fs::write(&torn, &std::fs::read(&torn).unwrap()[..150]).unwrap();
    let change = Connection::open(catalogue(directory)).unwrap();
    change.execute_batch("UPDATE schema_version SET version = 2").unwrap();
    drop(change);
    let error = Journal::open(Options::new(directory)).unwrap_err();
    assert!(
        matches!(error, OpenError::NewerFormat { path, found: 2, supported: 1 } if path == catalogue(directory))
    );
    assert_eq!(torn.metadata().unwrap().len(), 150);
}

#[test]
fn the_rows_of_the_catalogue_match_the_streams() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let infos = write_two(directory);
    let catalogue = Connection::open(catalogue(directory)).unwrap();
    for info in infos {
        let found = catalogue
            .query_row(
                "SELECT label, is_closed, first_order, last_order, oldest_sequence, last_sequence, first_at_ms,
                    last_at_ms, bytes, (SELECT sum(bytes) FROM segments WHERE stream = id)
                FROM streams WHERE name = ?1",
                [&*info.id.name],
                |row| {
                    let numbers: Vec<u64> = (2..10).map(|column| number(row, column)).collect::<Result<_, _>>()?;
                    Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, bool>(1)?, numbers))
                },
            )
            .unwrap();
        let numbers = [
            info.first_order,
            info.last_order,
            info.oldest_sequence,
            info.last_sequence,
            info.first_at_ms,
            info.last_at_ms,
            info.bytes,
            info.bytes,
        ];
        assert_eq!(found, (info.label.to_vec(), info.is_closed, numbers.to_vec()));
    }
    let mode = std::fs::metadata(directory.join("catalogue.sqlite")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_queries_in_the_readme_answer() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    {
        let journal = open(directory).journal;
        let mut writer = journal.create(&id("my-instance"), b"").unwrap();
        writer.append(&[records(0, 1, 100, &["a"])]).unwrap();
        writer.skip_to(Place { order: 5, sequence: 104, is_numbered: true });
        writer.start_segment(b"").unwrap();
        writer.append(&[records(0, 6, 105, &["b"])]).unwrap();
        writer.close().unwrap();
    }
    let catalogue = Connection::open(catalogue(directory)).unwrap();
    let now_ms = i64::try_from(crate::journal::now_ms()).unwrap();
    catalogue.execute("UPDATE streams SET last_at_ms = ?1, first_at_ms = ?1 - 120000", [now_ms]).unwrap();
    let readme = include_str!("../README.md");
    let queries = readme.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let rows: Vec<Vec<String>> = queries
        .map(|query| {
            let mut statement = catalogue.prepare(query).unwrap();
            let rows = statement.query_map([], |row| {
                let last = row.as_ref().column_count() - 1;
                Ok(format!("{:?} {:?}", row.get_ref(0)?, row.get_ref(last)?))
            });
            rows.unwrap().map(Result::unwrap).collect()
        })
        .collect();
    let text = |text: &str| format!("{:?}", rusqlite::types::ValueRef::Text(text.as_bytes()));
    let file = |number| text(&format!("streams/100-my-instance/{number:016}.seg"));
    let bytes = |number| segment(directory, "my-instance", number).metadata().unwrap().len();
    assert_eq!(rows[0], [format!("{} Integer(2)", text("my-instance"))]);
    assert_eq!(rows[1], [1, 2].map(|number| format!("{} Integer({})", file(number), bytes(number))));
    assert_eq!(rows[2], [format!("{} Integer(1)", text("my-instance"))]);
    assert_eq!(rows.len(), 3);
}

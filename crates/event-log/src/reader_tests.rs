use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::{MemoryAccount, OrderCounter, RecordInfo, Retention, Tag};

/// A log of records with the sequence numbers 1000, 1001, ... and the order numbers 1, 2, ...
fn log(records: usize, max_records: usize) -> Log {
    let retention = Retention { max_bytes: 1 << 20, max_records };
    let order = Arc::new(OrderCounter::starting_at(1));
    let mut log = Log::new(1000, order, MemoryAccount::new(1 << 20), retention);
    for _ in 0..records {
        append(&mut log);
    }
    log
}

fn append(log: &mut Log) -> Run {
    log.append_one(RecordInfo::numbered(Tag(0)), &Bytes::from_static(b"x"), 1, 0, |_| {})
}

fn next_sequence(reader: &mut Reader, log: &Log) -> u64 {
    let Read::Run(run) = reader.read(&[log], u64::MAX) else { panic!("no record is next") };
    run.first().sequence
}

/// The order number and the sequence number that a reader is behind.
fn place(mut reader: Reader) -> (u64, u64) {
    let gap = reader.gap_until(u64::MAX, u64::MAX);
    (gap.after_order, gap.after_sequence)
}

#[test]
fn a_reader_at_the_newest_record_receives_only_what_comes_later() {
    let mut log = log(3, 10);
    let mut reader = Reader::at_newest(&[&log]);
    assert_eq!((reader.seen(), place(reader)), (3, (3, 1002)));
    assert!(!reader.has_more(&[&log]) && matches!(reader.read(&[&log], u64::MAX), Read::Nothing));
    append(&mut log);
    assert!(reader.has_more(&[&log]));
    assert_eq!((next_sequence(&mut reader, &log), place(reader)), (1003, (4, 1003)));
    assert!(!reader.has_more(&[&log]));
}

#[test]
fn only_evictions_behind_the_place_of_a_reader_are_a_loss() {
    let log = log(4, 2);
    let mut reader = Reader::behind(1, 1000);
    let Read::Gap(gap) = reader.read(&[&log], u64::MAX) else { panic!("record 1001 was evicted") };
    assert_eq!(gap, Gap { after_sequence: 1000, next_sequence: 1002, after_order: 1, next_order: 3 });
    assert_eq!(place(reader), (1, 1001));
    assert_eq!(next_sequence(&mut reader, &log), 1002);
    assert_eq!(next_sequence(&mut Reader::owed_from(2), &log), 1002);
    assert!(matches!(Reader::owed_from(1).read(&[&log], u64::MAX), Read::Gap(gap) if gap.after_order == 1));
}

#[test]
fn a_reader_that_starts_behind_evicted_records_receives_the_rest_without_another_gap() {
    let log = log(4, 2);
    let (mut reader, gap) = Reader::after_order(&[&log], 1, 4).unwrap_err();
    assert_eq!(gap, Gap { after_sequence: 1003, next_sequence: 1002, after_order: 1, next_order: 3 });
    assert_eq!(next_sequence(&mut reader, &log), 1002);
    assert_eq!(next_sequence(&mut Reader::after_order(&[&log], 2, 4).unwrap(), &log), 1002);
    assert!(!Reader::after_order(&[&log], 4, 4).unwrap().has_more(&[&log]));
    assert!(Reader::after_order(&[&log], 5, 4).is_err(), "the number was never drawn");

    let (mut reader, gap) = Reader::after_sequence(&log, 1000).unwrap_err();
    assert_eq!((gap.after_sequence, gap.next_sequence, place(reader).1), (1000, 1002, 1001));
    assert_eq!(next_sequence(&mut reader, &log), 1002);
}

#[test]
fn records_from_elsewhere_move_a_reader_forwards_only() {
    let mut log = log(0, 10);
    let (first, second) = (append(&mut log), append(&mut log));
    append(&mut log);
    let mut reader = Reader::behind(0, 999);
    reader.pass(&second);
    assert_eq!(place(reader), (2, 1001));
    reader.pass(&first);
    assert_eq!((place(reader), next_sequence(&mut reader, &log)), ((2, 1001), 1002));
}

#[test]
fn a_gap_leaves_the_reader_right_before_the_next_record() {
    let mut reader = Reader::behind(3, 1002);
    let gap = reader.gap_until(9, 1008);
    assert_eq!(gap, Gap { after_sequence: 1002, next_sequence: 1008, after_order: 3, next_order: 9 });
    assert_eq!((reader.seen(), place(reader)), (8, (8, 1007)));
    reader.gap_until(2, 1001);
    assert_eq!(place(reader), (8, 1007));
}

#[test]
fn a_reader_can_be_moved_back_to_receive_records_again() {
    let log = log(3, 10);
    let mut reader = Reader::at_newest(&[&log]);
    reader.move_to(1);
    assert_eq!((next_sequence(&mut reader, &log), reader.seen(), place(reader)), (1001, 2, (2, 1002)));
}

#[test]
fn a_reader_that_took_only_a_part_of_a_run_receives_the_rest_next() {
    let mut log = log(0, 10);
    let mut batch = log.batch(3, 3);
    for record in [b"a", b"b", b"c"] {
        batch.push(RecordInfo::numbered(Tag(0)), record);
    }
    let run = log.append(batch, 0, |_| {}).unwrap();
    let mut reader = Reader::at_oldest(&[&log]);
    assert_eq!((next_sequence(&mut reader, &log), place(reader)), (1000, (3, 1002)));
    reader.move_behind(&run.part(0..2));
    assert_eq!((place(reader), next_sequence(&mut reader, &log)), ((2, 1001), 1002));
}

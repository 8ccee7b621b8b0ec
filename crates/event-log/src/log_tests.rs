use super::*;
use crate::chunk::{Form, Tag};
use crate::reader::{Gap, Read, Reader};

fn log(max_bytes: usize, max_records: usize) -> (Log, Arc<MemoryAccount>) {
    let account = MemoryAccount::new(1 << 20);
    let order = Arc::new(OrderCounter::starting_at(1));
    (Log::new(1000, order, Arc::clone(&account), Retention { max_bytes, max_records }), account)
}

fn append(log: &mut Log, bytes: &'static [u8]) {
    log.append_one(RecordInfo::numbered(Tag(0)), &Bytes::from_static(bytes), bytes.len(), 0, |_| {});
}

fn note(log: &mut Log, bytes: &'static [u8]) {
    log.append_one(RecordInfo::unnumbered(Tag(1)), &Bytes::from_static(bytes), bytes.len(), 0, |_| {});
}

/// Everything that a reader receives: records as text, gaps as sequence numbers.
fn drain(reader: &mut Reader, logs: &[&Log]) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        match reader.read(logs, u64::MAX) {
            Read::Run(run) => {
                all.extend(run.records().map(|record| String::from_utf8_lossy(record.bytes).into_owned()));
            }
            Read::Gap(Gap { after_sequence, next_sequence, .. }) => {
                all.push(format!("gap {after_sequence} {next_sequence}"));
            }
            Read::Nothing => return all,
        }
    }
}

#[test]
fn sequence_numbers_grow_by_one_and_only_for_numbered_records() {
    let (mut log, _) = log(1 << 20, 100);
    append(&mut log, b"a");
    note(&mut log, b"b");
    append(&mut log, b"c");
    let numbers: Vec<_> = (1..=3).map(|order| log.run_after(order - 1).unwrap().first().sequence).collect();
    assert_eq!(numbers, [1000, 1000, 1001]);
    assert_eq!(log.next_sequence(), 1002);
}

#[test]
fn a_log_is_bounded_by_count_and_by_bytes_but_always_keeps_the_newest_record() {
    let (mut log, account) = log(1000, 3);
    for _ in 0..10 {
        append(&mut log, b"x");
    }
    assert_eq!((log.len(), log.oldest_sequence()), (3, 1007));
    log.append_one(RecordInfo::numbered(Tag(0)), &Bytes::from(vec![b'y'; 5000]), 5000, 0, |_| {});
    assert_eq!(log.len(), 1);
    assert!(account.used() >= 5000);
    drop(log);
    assert_eq!(account.used(), 0);
}

#[test]
fn single_records_read_back_unchanged_with_and_without_a_page() {
    let (mut log, _) = log(1 << 20, 1000);
    let sizes = [1, 700, 0, 900, COPIED, COPIED + 1, 64 << 10, 3, 30_000];
    let records: Vec<_> =
        sizes.iter().zip(b'a'..).map(|(size, byte)| Bytes::from(vec![byte; *size])).collect();
    for record in &records {
        log.append_one(RecordInfo::unnumbered(Tag(0)), record, record.len(), 0, |_| {});
    }
    let mut reader = Reader::at_oldest(&[&log]);
    let held: Vec<_> = drain(&mut reader, &[&log]).into_iter().map(Bytes::from).collect();
    assert_eq!(held, records);
}

#[test]
fn a_reader_resumes_right_after_its_record() {
    let (mut log, _) = log(1 << 20, 100);
    append(&mut log, b"0");
    note(&mut log, b"1");
    append(&mut log, b"2");
    let from = |sequence| drain(&mut Reader::after_sequence(&log, sequence).unwrap(), &[&log]);
    assert_eq!(from(1000), ["1", "2"]);
    assert!(from(1001).is_empty());
    for unknown in [999, 1002] {
        let (mut reader, gap) = Reader::after_sequence(&log, unknown).unwrap_err();
        assert_eq!((gap.after_sequence, gap.next_sequence), (unknown, 1000));
        assert_eq!(drain(&mut reader, &[&log]), ["0", "1", "2"]);
    }
}

#[test]
fn a_reader_receives_one_gap_per_loss_and_none_for_records_before_its_start() {
    let (mut log, _) = log(1 << 20, 2);
    let mut early = Reader::at_oldest(&[&log]);
    for record in [&b"0"[..], b"1", b"2"] {
        append(&mut log, record);
    }
    assert_eq!(drain(&mut early, &[&log]), ["gap 999 1001", "1", "2"]);
    assert_eq!(drain(&mut Reader::at_oldest(&[&log]), &[&log]), ["1", "2"]);
    note(&mut log, b"3");
    note(&mut log, b"4");
    assert_eq!(drain(&mut early, &[&log]), ["3", "4"]);
    // Record 1002 is evicted, but the reader has seen it. The unnumbered record after it is evicted too, and
    // was not seen.
    let (_, gap) = Reader::after_sequence(&log, 1001).unwrap_err();
    assert_eq!((gap.after_sequence, gap.next_sequence), (1001, 1003));
    assert!(Reader::after_sequence(&log, 1002).is_ok());
}

#[test]
fn several_logs_are_read_in_one_order() {
    let (mut first, account) = log(1 << 20, 100);
    let retention = Retention { max_bytes: 1 << 20, max_records: 100 };
    let mut second = Log::new(1, Arc::clone(&first.order), account, retention);
    for number in 0..3 {
        let mut batch = first.batch(8, 2);
        batch.push(RecordInfo::numbered(Tag(0)), format!("{number}a").as_bytes());
        batch.push(RecordInfo::numbered(Tag(0)), format!("{number}b").as_bytes());
        first.append(batch, 0, |_| {});
        append(&mut second, b"other");
    }
    let logs = [&first, &second];
    let all = ["0a", "0b", "other", "1a", "1b", "other", "2a", "2b", "other"];
    assert_eq!(drain(&mut Reader::at_oldest(&logs), &logs), all);
    assert_eq!(drain(&mut Reader::after_order(&logs, 4, 9).unwrap(), &logs), all[4..]);
    let (mut ahead, gap) = Reader::after_order(&logs, 50, 9).unwrap_err();
    assert_eq!((gap.after_order, gap.next_order), (50, 1));
    assert_eq!(drain(&mut ahead, &logs), all);
    let mut limited = Reader::at_oldest(&logs);
    assert!(matches!(limited.read(&logs, 2), Read::Run(run) if run.len() == 2));
    assert!(matches!(limited.read(&logs, 2), Read::Nothing));
}

#[test]
fn a_loss_in_one_log_is_reported_even_after_an_older_loss_in_another() {
    let (mut small, account) = log(1 << 20, 1);
    let retention = Retention { max_bytes: 1 << 20, max_records: 2 };
    let mut large = Log::new(1, Arc::clone(&small.order), account, retention);
    append(&mut large, b"a");
    append(&mut large, b"b");
    for _ in 0..5 {
        append(&mut small, b"x");
    }
    let mut reader = Reader::at_oldest(&[&large, &small]);
    let Read::Run(first) = reader.read(&[&large, &small], u64::MAX) else { panic!() };
    assert_eq!(first.first().bytes, b"a");
    // The small log had evicted up to order 6 before the reader started. Now the large log evicts order 2,
    // which the reader should have received.
    append(&mut large, b"c");
    append(&mut large, b"d");
    let Read::Gap(gap) = reader.read(&[&large, &small], u64::MAX) else {
        panic!("the loss of b is not reported")
    };
    assert_eq!((gap.after_order, gap.next_order), (1, 7));
    assert_eq!(drain(&mut reader, &[&large, &small]), ["x", "c", "d"]);
}

#[test]
fn a_single_record_does_not_keep_the_chunk_that_it_came_with() {
    let (mut log, account) = log(1 << 20, 100);
    let mut batch = log.batch(0, 100);
    for _ in 0..100 {
        batch.push(RecordInfo::numbered(Tag(0)), &[b'x'; 1000]);
    }
    log.append(batch, 0, |_| {});
    log.evict(1 << 20, |_| {});
    assert_eq!(log.len(), 1);
    assert!(account.used() < 2000, "{}", account.used());
    let (run, next) = (log.run_after(0).unwrap(), log.next_sequence());
    assert_eq!((run.first().sequence, run.first().order, run.first().bytes.len()), (next - 1, 100, 1000));
    append(&mut log, b"more");
    assert_eq!(drain(&mut Reader::after_sequence(&log, next - 1).unwrap(), &[&log]), ["more"]);
}

#[test]
fn the_second_reader_of_a_chunk_leaves_what_it_derived_for_the_others() {
    let (mut log, account) = log(1 << 20, 100);
    append(&mut log, b"abc");
    let run = log.run_after(0).unwrap();
    let before = account.used();
    let mut made = 0;
    let mut derive = |form| {
        run.derived(Form(form), &account, || {
            made += 1;
            Bytes::from_static(b"<abc>")
        })
    };
    for _ in 0..5 {
        assert_eq!(derive("angles").unwrap(), "<abc>");
    }
    assert_eq!(derive("other"), None);
    assert_eq!((made, account.used() - before), (2, 5));
    drop((run, log));
    assert_eq!(account.used(), 0);
}

#[test]
fn memory_stays_charged_for_as_long_as_a_reader_holds_it() {
    let (mut log, account) = log(1 << 20, 1);
    log.append_one(RecordInfo::numbered(Tag(0)), &Bytes::from(vec![b'x'; 100_000]), 100_000, 0, |_| {});
    let shared = log.run_after(0).unwrap().share(0);
    assert_eq!(account.detached(), 0, "the log holds it too");
    append(&mut log, b"small");
    assert!(account.used() > 100_000 && account.detached() > 100_000);
    drop(shared);
    assert!(account.used() < 1000 && account.detached() == 0);
}

#[test]
fn a_record_is_found_by_its_own_sequence_number_only() {
    let (mut log, _) = log(1 << 20, 4);
    for bytes in [&b"0"[..], b"1"] {
        append(&mut log, bytes);
    }
    let mut batch = log.batch(9, 3);
    assert!(batch.bytes.capacity() >= 9 && batch.capacity() >= 3);
    batch.push(RecordInfo::unnumbered(Tag(1)), b"note");
    batch.push(RecordInfo::numbered(Tag(0)), b"2");
    batch.push(RecordInfo::numbered(Tag(0)), b"3");
    log.append(batch, 0, |_| {});
    let found = [0, 1000, 1001, 1002, 1003, 1004].map(|sequence| log.find(sequence));
    assert_eq!(found, [None, None, Some("1".into()), Some("2".into()), Some("3".into()), None]);
}

#[test]
fn a_log_reports_what_it_holds() {
    let (mut log, account) = log(1 << 20, 100);
    assert!(log.is_new() && log.is_empty() && log.oldest_evictable().is_none());
    assert_eq!(
        (log.newest_order(), log.cost(), log.first_sequence(), log.oldest_sequence()),
        (0, 0, 1000, 1000)
    );
    append(&mut log, b"a");
    assert!(!log.is_new() && !log.is_empty() && log.oldest_evictable().is_none());
    append(&mut log, b"bc");
    assert_eq!((log.oldest_evictable(), log.newest_order(), log.first_sequence()), (Some(1), 2, 1000));
    assert_eq!((log.cost(), log.len(), account.used()), (2 * 128 + 3, 2, 2 * 128 + 3));
    assert!(Arc::ptr_eq(log.account(), &account));
}

#[test]
fn no_more_is_evicted_than_necessary() {
    let (mut log, _) = log(5 * 129, 100);
    for _ in 0..6 {
        append(&mut log, b"x");
    }
    assert_eq!((log.len(), log.evict(0, |_| {}), log.len()), (5, 0, 5));
    assert_eq!((log.evict(2 * 129, |_| {}), log.len()), (2 * 129, 3));
    assert_eq!((log.evict(129 + 1, |_| {}), log.len()), (2 * 129, 1));
    assert_eq!((log.evict(1, |_| {}), log.len()), (0, 1));
}

#[test]
fn a_chunk_that_is_evicted_in_part_keeps_the_rest() {
    let (mut log, _) = log(1 << 20, 100);
    let mut batch = log.batch(3, 3);
    for record in [b"a", b"b", b"c"] {
        batch.push(RecordInfo::numbered(Tag(0)), record);
    }
    log.append(batch, 0, |_| {});
    log.evict(1, |_| {});
    assert_eq!(drain(&mut Reader::at_oldest(&[&log]), &[&log]), ["b", "c"]);
    assert!(log.append(Batch::default(), 0, |_| {}).is_none());
}

#[test]
fn only_a_small_single_record_is_copied_to_a_page() {
    let (mut log, _) = log(1 << 20, 100);
    let mut is_copied = |bytes: Bytes| {
        let run = log.append_one(RecordInfo::numbered(Tag(0)), &bytes, bytes.len(), 0, |_| {});
        (run.first().bytes.as_ptr() != bytes.as_ptr(), log.page.capacity())
    };
    assert_eq!(is_copied(Bytes::from_static(b"x")), (true, 1023));
    assert_eq!(is_copied(vec![b'x'; 1023].into()), (true, 0), "it fits exactly");
    assert_eq!(is_copied(vec![b'x'; 100_000].into()), (false, 0));
    assert_eq!(is_copied(vec![b'x'; 4096].into()), (true, (64 << 10) - 4096));
    assert!(!is_copied(vec![b'x'; 4097].into()).0);
}

#[test]
fn a_log_continues_after_records_that_are_elsewhere() {
    let continuing = |is_numbered| {
        let past = Past { first_sequence: 1000, last_order: 7, last_sequence: 1004, is_numbered };
        let retention = Retention { max_bytes: 1 << 20, max_records: 100 };
        let order = Arc::new(OrderCounter::starting_at(8));
        Log::continuing(past, order, MemoryAccount::new(1 << 20), retention)
    };
    let mut log = continuing(true);
    assert!(log.is_empty() && !log.is_new());
    assert_eq!((log.first_sequence(), log.oldest_sequence(), log.next_sequence()), (1000, 1005, 1005));
    assert!(Reader::after_sequence(&log, 1004).is_ok() && Reader::after_sequence(&log, 1003).is_err());
    assert!(Reader::after_sequence(&continuing(false), 1004).is_err(), "a record after it is elsewhere");
    append(&mut log, b"next");
    assert_eq!((log.find(1005), log.newest_order()), (Some("next".into()), 8));
}

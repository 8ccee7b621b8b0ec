//! Property tests: random streams are read back as they were written, from every place, also after their files were
//! damaged.

use std::path::Path;

use bytes::Bytes;
use event_log::{Record, Run, Tag};
use proptest::prelude::*;

use crate::testing::*;
use crate::*;

/// A random step of a test.
#[derive(Debug, Clone)]
enum Step {
    /// Appends records: the log, whether each record is numbered, and the distance from the last order number.
    Records(u8, Vec<bool>, u64),
    /// Appends a note with this distance from the last order number.
    Note(u64),
    Segment,
    /// Skips records that are lost: how many order numbers, and whether the last lost record is numbered.
    Skip(u64, bool),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..2_u8, proptest::collection::vec(prop::bool::weighted(0.7), 1..5), 1..4_u64)
            .prop_map(|(log, numbered, gap)| Step::Records(log, numbered, gap)),
        2 => (0..3_u64).prop_map(Step::Note),
        2 => Just(Step::Segment),
        1 => (1..4_u64, any::<bool>()).prop_map(|(count, is_numbered)| Step::Skip(count, is_numbered)),
        1 => Just(Step::Restart),
    ]
}

/// The expected contents of a stream.
#[derive(Debug, Default)]
struct Model {
    /// For each record: its order number, its sequence number, whether it is numbered, and its log.
    records: Vec<(u64, u64, bool, u8)>,
    /// For each note: its order number, and the number of records before it.
    notes: Vec<(u64, usize)>,
    /// For each skip: the places before and after it.
    holes: Vec<(Place, Place)>,
}

/// Executes the steps. The text of every record is its order number.
fn write(directory: &Path, steps: &[Step]) -> (Journal, Model) {
    let mut journal = open(directory).journal;
    let mut writer = journal.create(&id("a"), b"label").unwrap();
    let mut model = Model::default();
    for step in steps {
        let place = writer.place();
        match step {
            Step::Records(log, numbered, gap) => {
                let mut sequence = place.sequence;
                let mut texts = Vec::new();
                for (is_numbered, order) in numbered.iter().zip(place.order + gap..) {
                    let is_numbered = *is_numbered && *log == 0;
                    sequence += u64::from(is_numbered);
                    model.records.push((order, sequence, is_numbered, *log));
                    texts.push((order, sequence, is_numbered, order.to_string()));
                }
                let records: Vec<_> = texts
                    .iter()
                    .map(|(order, sequence, is_numbered, text)| Record {
                        order: *order,
                        sequence: *sequence,
                        is_numbered: *is_numbered,
                        at_ms: 5,
                        tag: Tag(*log),
                        mark: 3,
                        bytes: text.as_bytes(),
                    })
                    .collect();
                let run = Run::from_records(&records, &account()).unwrap();
                writer.append(&[Entry::Records { log: *log, run, stream_offset: 0 }]).unwrap();
            }
            Step::Note(gap) => {
                let order = place.order + gap;
                model.notes.push((order, model.records.len()));
                writer.append(&[Entry::Note { tag: 1, order, bytes: Bytes::from_static(b"note") }]).unwrap();
            }
            Step::Segment => writer.start_segment(b"checkpoint").unwrap(),
            Step::Skip(count, is_numbered) => {
                let behind = Place {
                    order: place.order + count,
                    sequence: place.sequence + count / 2,
                    is_numbered: *is_numbered,
                };
                model.holes.push((place, behind));
                writer.skip_to(behind);
                writer.start_segment(b"checkpoint").unwrap();
            }
            Step::Restart => {
                drop((writer, journal));
                journal = open(directory).journal;
                writer = journal.resume(&id("a"), &account()).unwrap().writer;
                assert_eq!(writer.place(), place);
            }
        }
    }
    (journal, model)
}

/// Everything that a reader returns: records as in the model, the order numbers of notes, and the gaps (the order
/// numbers before and after each).
type Read = (Vec<(u64, u64, bool, u8)>, Vec<u64>, Vec<(u64, u64)>);

fn read(reader: &mut StreamReader, max_bytes: usize) -> Read {
    let (mut records, mut notes, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let all = reader.read(max_bytes, &account()).unwrap();
        if all.is_empty() {
            return (records, notes, gaps);
        }
        for found in all {
            match found {
                Found::Records { log, run } => {
                    for record in run.records() {
                        assert_eq!(record.bytes, record.order.to_string().as_bytes());
                        assert_eq!((record.tag, record.mark, record.at_ms), (Tag(log), 3, 5));
                        records.push((record.order, record.sequence, record.is_numbered, log));
                    }
                }
                Found::Note { order, tag, bytes } => {
                    assert_eq!((tag, &bytes[..]), (1, &b"note"[..]));
                    notes.push(order);
                }
                Found::Gap { after_order, next_order, .. } => gaps.push((after_order, next_order)),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_reader_at_any_place_reads_everything_after_it(steps in proptest::collection::vec(step(), 0..30)) {
        let directory = tempfile::tempdir().unwrap();
        let (journal, model) = write(directory.path(), &steps);
        let mut reader = journal.reader(&id("a")).unwrap();
        let last = journal.find("a").unwrap();
        for order in 0..last.last_order + 3 {
            reader.seek_after_order(order).unwrap();
            let (records, notes, gaps) = read(&mut reader, 1);
            let expected: Vec<_> = model.records.iter().filter(|record| record.0 > order).copied().collect();
            prop_assert_eq!(records, expected, "records after {}", order);
            let expected: Vec<_> = model.notes.iter().map(|note| note.0).filter(|note| *note > order || order == 0).collect();
            prop_assert_eq!(notes, expected, "notes after {}", order);
            let holes = model.holes.iter().filter(|(_, behind)| behind.order > order);
            let expected: Vec<_> = holes.map(|(before, _)| before.order.max(order)).collect();
            prop_assert_eq!(gaps.iter().map(|gap| gap.0).collect::<Vec<_>>(), expected, "gaps after {}", order);
        }
        for sequence in 98..last.last_sequence + 3 {
            let is_seen = |(_, own, is_numbered, _): &(u64, u64, bool, u8)| *own < sequence || (*own == sequence && *is_numbered);
            let unseen: Vec<_> =
                model.records.iter().filter(|record| record.3 == 0 && !is_seen(record)).copied().collect();
            let Some(order) = reader.order_of_sequence(sequence).unwrap() else {
                let is_in_hole = model.holes.iter().any(|(before, behind)| before.sequence < sequence && behind.is_after(sequence));
                prop_assert!(sequence == 98 || sequence > last.last_sequence || is_in_hole, "{}", sequence);
                continue;
            };
            reader.seek_after_order(order).unwrap();
            let (mut records, _, _) = read(&mut reader, usize::MAX / 2);
            records.retain(|record| record.3 == 0);
            prop_assert_eq!(records, unseen, "sequence {}", sequence);
        }
    }

    #[test]
    fn after_damage_no_record_is_wrong_and_missing_ones_are_gaps(
        steps in proptest::collection::vec(step(), 1..30),
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..=255_u8), 1..4),
        keeps_catalogue in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let (journal, model) = write(directory.path(), &steps);
        drop(journal);
        let stream = directory.path().join("streams/100-a");
        for (file, at, change) in places {
            let mut files: Vec<_> = std::fs::read_dir(&stream).unwrap().map(|file| file.unwrap().path()).collect();
            files.sort();
            let file = file.get(&files);
            let mut bytes = std::fs::read(file).unwrap();
            // These bytes are the version. A newer version prevents opening, which another test covers.
            let at = at.index(bytes.len());
            if !(8..10).contains(&at) {
                bytes[at] ^= change;
            }
            std::fs::write(file, bytes).unwrap();
        }
        if !keeps_catalogue {
            std::fs::remove_file(directory.path().join("catalogue.sqlite")).unwrap();
        }
        let journal = open(directory.path()).journal;
        let Some(info) = journal.find("a") else { return Ok(()) };
        let mut reader = journal.reader(&info.id).unwrap();
        let mut end = 0;
        for order in [0, 1, 5, 9, 20] {
            reader.seek_after_order(order).unwrap();
            let (records, _, gaps) = read(&mut reader, 1);
            // Records that are missing between two others must be in a gap.
            let mut expected = model.records.iter().filter(|record| record.0 > order).peekable();
            for record in &records {
                if order == 0 && end == 0 {
                    // A reader that starts at the oldest record gets no gap for lost records before it.
                    expected.by_ref().peeking_take_while_before(record.0);
                }
                end = record.0;
                while let Some(missing) = expected.next_if(|expected| expected.0 < record.0) {
                    prop_assert!(gaps.iter().any(|gap| gap.0 < missing.0), "{:?} is missing", missing);
                }
                prop_assert_eq!(Some(record), expected.next());
            }
        }
        let mut resumed = journal.resume(&info.id, &account()).unwrap();
        let _ = resumed.replay.by_ref().count();
        let place = resumed.writer.place();
        if resumed.writer.wants_segment() {
            resumed.writer.start_segment(b"").unwrap();
        }
        reader.seek_after_order(place.order).unwrap();
        resumed.writer.append(&[note(place.order + 1, "note")]).unwrap();
        prop_assert_eq!(last_note(&mut reader), Some(place.order + 1));
    }
}

/// Reads to the end and returns the order number of the last note.
fn last_note(reader: &mut StreamReader) -> Option<u64> {
    let mut last = None;
    loop {
        let all = reader.read(1, &account()).unwrap();
        if all.is_empty() {
            return last;
        }
        for found in all {
            if let Found::Note { order, .. } = found {
                last = Some(order);
            }
        }
    }
}

trait TakeBefore {
    /// Skips all records before an order number.
    fn peeking_take_while_before(&mut self, order: u64);
}

impl<'a, I: Iterator<Item = &'a (u64, u64, bool, u8)>> TakeBefore for std::iter::Peekable<I> {
    fn peeking_take_while_before(&mut self, order: u64) {
        while self.next_if(|record| record.0 < order).is_some() {}
    }
}

#[test]
fn a_segment_that_was_cut_off_anywhere_serves_the_entries_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("streams/100-a/0000000000000001.seg");
    let mut ends = Vec::new();
    {
        let journal = open(directory.path()).journal;
        let mut writer = journal.create(&id("a"), b"label").unwrap();
        ends.push((path.metadata().unwrap().len(), 0));
        for (order, entry) in
            [(1, records(0, 1, 100, &["a"])), (2, records(1, 2, 100, &["b"])), (3, note(3, "c"))]
        {
            writer.append(&[entry]).unwrap();
            ends.push((path.metadata().unwrap().len(), order));
        }
    }
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &whole[..cut]).unwrap();
        let Opened { journal, streams, set_aside } = open(directory.path());
        assert!(set_aside.is_empty(), "{cut}");
        let held = ends.iter().rev().find(|(end, _)| *end <= cut as u64);
        let Some((end, last_order)) = held else {
            assert!(streams.is_empty(), "{cut}");
            continue;
        };
        assert_eq!((streams[0].last_order, streams[0].bytes), (*last_order, *end), "{cut}");
        let mut writer = journal.resume(&id("a"), &account()).unwrap().writer;
        assert_eq!(path.metadata().unwrap().len(), *end);
        writer.append(&[records(0, 4, writer.place().sequence + 1, &["d"])]).unwrap();
        assert_eq!(all(&mut journal.reader(&id("a")).unwrap()).len() as u64, last_order + 1, "{cut}");
    }
}

#[test]
fn an_entry_that_is_damaged_before_others_is_set_aside_with_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("streams/100-a/0000000000000001.seg");
    let journal = open(directory.path()).journal;
    let mut writer = journal.create(&id("a"), b"").unwrap();
    let mut ends = Vec::new();
    for order in 1..4 {
        writer.append(&[records(0, order, 99 + order, &["text"])]).unwrap();
        ends.push(path.metadata().unwrap().len());
    }
    drop((writer, journal));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[usize::try_from(ends[1]).unwrap() - 1] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let Opened { journal, set_aside, .. } = open(directory.path());
    let copy = directory.path().join("set-aside/100-a-0000000000000001.seg");
    assert_eq!(set_aside, [SetAside { path: copy.clone(), reason: "an entry is damaged".into() }]);
    assert_eq!(std::fs::read(copy).unwrap(), bytes);
    assert_eq!(path.metadata().unwrap().len(), ends[0]);
    assert_eq!(all(&mut journal.reader(&id("a")).unwrap()), ["1 100 text"]);
}

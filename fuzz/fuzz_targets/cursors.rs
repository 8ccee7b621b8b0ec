//! Fuzzes cursors: their text form is stable, and a reader receives every record of a log once and in order,
//! or a gap in its place, wherever it starts and whatever is evicted in the meantime.

#![no_main]

use std::sync::Arc;

use acp_instances::{JournalCursor, MessageCursor};
use event_log::{Gap, Log, MemoryAccount, OrderCounter, Read, Reader, RecordInfo, Retention, Tag};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// The first sequence number of the log. It is not 1, so that there are smaller numbers to start from.
const FIRST: u64 = 5;

#[derive(Debug, Arbitrary)]
struct Input {
    text: String,
    max_records: u8,
    max_bytes: u16,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    /// Appends records that arrive together; each is numbered or not.
    Append { numbered: Vec<bool>, length: u8 },
    /// The reader reads once.
    Read,
    /// Evicts records of about this size.
    Evict(u16),
    /// Another reader starts after a sequence number and reads everything.
    Resume(u8),
}

fuzz_target!(|input: Input| {
    text_is_stable(&input.text);
    let retention =
        Retention { max_bytes: input.max_bytes.into(), max_records: usize::from(input.max_records).max(1) };
    let order = Arc::new(OrderCounter::starting_at(1));
    let log = Log::new(FIRST, order, MemoryAccount::new(1 << 30), retention);
    let reader = Reader::at_oldest(&[&log]);
    let mut model = Model { log, reader, newest: 0, received: 0, evicted: 0, gap: false };
    for step in &input.steps {
        match step {
            Step::Append { numbered, length } => model.append(numbered, *length),
            Step::Read => drop(model.read()),
            Step::Evict(bytes) => model.evict((*bytes).into()),
            Step::Resume(sequence) => resume(&model.log, (*sequence).into()),
        }
    }
    while model.read() {}
});

fn text_is_stable(text: &str) {
    if let Ok(cursor) = text.parse::<MessageCursor>() {
        assert_eq!(cursor.to_string().parse(), Ok(cursor), "{text:?}");
        assert!(text.bytes().all(|byte| byte.is_ascii_digit()), "{text:?}");
    }
    if let Ok(cursor) = text.parse::<JournalCursor>() {
        assert_eq!(cursor.to_string().parse(), Ok(cursor), "{text:?}");
    }
}

/// A log, one reader of it, and what the reader must receive next.
struct Model {
    log: Log,
    reader: Reader,
    /// The order number of the newest record.
    newest: u64,
    /// The order number of the newest record that the reader has received.
    received: u64,
    /// The order number of the newest evicted record.
    evicted: u64,
    /// True if the reader has received a gap since its last record.
    gap: bool,
}

impl Model {
    fn append(&mut self, numbered: &[bool], length: u8) {
        let mut batch = self.log.batch(usize::from(length) * numbered.len(), numbered.len());
        for is_numbered in numbered {
            let info = RecordInfo { is_numbered: *is_numbered, ..RecordInfo::numbered(Tag(0)) };
            batch.push(info, &vec![b'x'; length.into()]);
        }
        let mut evicted = self.evicted;
        let run = self.log.append(batch, 0, |record| {
            assert_eq!(record.order, evicted + 1, "the oldest record is evicted first");
            evicted = record.order;
        });
        self.evicted = evicted;
        assert_eq!(run.map_or(0, |run| run.len()), numbered.len());
        self.newest += numbered.len() as u64;
        assert!(self.evicted < self.newest || self.newest == 0, "the newest record is always held");
    }

    fn evict(&mut self, bytes: usize) {
        let mut evicted = self.evicted;
        self.log.evict(bytes, |record| {
            assert_eq!(record.order, evicted + 1);
            evicted = record.order;
        });
        self.evicted = evicted;
    }

    /// Reads once. Returns false if there is nothing to read.
    fn read(&mut self) -> bool {
        match self.reader.read(&[&self.log], u64::MAX) {
            Read::Run(run) => {
                for record in run.records() {
                    assert!(record.order > self.received, "no record is received twice");
                    if record.order > self.received + 1 {
                        assert!(self.gap, "records are missing without a gap");
                        assert!(self.evicted >= record.order - 1, "a record was skipped that is still held");
                    }
                    self.received = record.order;
                    self.gap = false;
                }
                true
            }
            Read::Gap(_) => {
                assert!(self.evicted > self.received, "a gap without a loss");
                self.gap = true;
                true
            }
            Read::Nothing => {
                assert!(self.received == self.newest, "records are held that the reader does not receive");
                false
            }
        }
    }
}

/// Starts after a sequence number and reads everything.
fn resume(log: &Log, sequence: u64) {
    let (mut reader, first) = match Reader::after_sequence(log, sequence) {
        Ok(reader) => {
            assert!(
                (log.first_sequence()..log.next_sequence()).contains(&sequence),
                "that number was never used"
            );
            (reader, sequence + 1)
        }
        Err((reader, Gap { after_sequence, next_sequence, .. })) => {
            assert_eq!(after_sequence, sequence);
            (reader, next_sequence)
        }
    };
    let mut expected = first;
    loop {
        match reader.read(&[log], u64::MAX) {
            Read::Run(run) => {
                for record in run.records().filter(|record| record.is_numbered) {
                    assert_eq!(record.sequence, expected, "every numbered record, once and in order");
                    expected += 1;
                }
            }
            Read::Gap(gap) => panic!("{gap:?}: nothing was evicted meanwhile"),
            Read::Nothing => break,
        }
    }
    assert_eq!(expected, log.next_sequence(), "up to the newest");
}

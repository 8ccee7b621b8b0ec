//! Fuzzes segments of the journal: the entries that are read from any bytes encode to the same bytes again, and a
//! journal with any bytes as a segment can be opened, read from any place, and continued.

#![no_main]

use std::fs;

use journal::{Entry, Found, Journal, Options, StreamId};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
/// Whether the checksums are corrected first.
    is_repaired: bool,
    /// Whether a whole journal is opened, which takes longer.
    is_opened: bool,
    place: u64,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let mut bytes = input.bytes.to_vec();
    if input.is_repaired {
        journal::fuzzing::repair(&mut bytes);
    }
    if let Some((again, valid)) = journal::fuzzing::rewrite(&bytes).expect("memory can be written") {
        assert!(again.len() as u64 <= valid && bytes.starts_with(&again));
    }
    if input.is_opened {
        open(&bytes, input.place);
    }
});

/// Opens a journal with one stream. The stream's name and first sequence number are those of the corpus.
fn open(bytes: &[u8], place: u64) {
    let folder = tempfile::Builder::new().prefix("fuzz-").tempdir().expect("a folder can be made");
    let stream = folder.path().join("streams/100-a");
    fs::create_dir_all(&stream).expect("a folder can be made");
    fs::write(stream.join("0000000000000001.seg"), bytes).expect("a file can be written");
    let account = event_log::MemoryAccount::new(usize::MAX);
    let options = Options { max_age: std::time::Duration::MAX, ..Options::new(folder.path()) };
    let opened = match Journal::open(options) {
        Ok(opened) => opened,
        Err(error) => {
            assert!(matches!(error, journal::OpenError::NewerFormat { .. }), "{error}");
            return;
        }
    };
    let Some(info) = opened.streams.first() else { return };
    let id = StreamId { name: "a".into(), first_sequence: 100 };
    assert_eq!(info.id, id);
    let mut reader = opened.journal.reader(&id).expect("the stream is there");
    let order = reader.order_of_sequence(place).expect("the file can be read");
    for order in [Some(0), Some(place), order].into_iter().flatten() {
        reader.seek_after_order(order).expect("the file can be read");
        let mut last = order;
        loop {
            let found = reader.read(1, &account).expect("the file can be read");
            if found.is_empty() {
                break;
            }
            for found in found {
                let (first, next) = match found {
                    Found::Records { run, .. } => (run.first().order, run.last().order),
                    Found::Note { order, .. } => (order, order),
                    Found::Gap { .. } => continue,
                };
                assert!(first >= last, "{first} comes after {last}");
                last = next;
            }
        }
    }
    if let Ok(mut resumed) = opened.journal.resume(&id, &account) {
        resumed.replay.by_ref().for_each(drop);
        let order = resumed.writer.place().order;
        let note = Entry::Note { tag: 0, order, bytes: bytes::Bytes::from_static(b"note") };
        resumed.writer.append(&[note]).expect("the file can be written");
        reader.seek_after_order(0).expect("the file can be read");
    }
}

//! Helpers for the tests of this crate.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use event_log::{MemoryAccount, Record, Run, Tag};

use crate::*;

/// A run with one record for each text. Records of log 0 are numbered, those of log 1 are not.
pub(crate) fn run(log: u8, order: u64, sequence: u64, texts: &[&str]) -> Run {
    let records: Vec<_> = texts
        .iter()
        .zip(0..)
        .map(|(text, index)| Record {
            order: order + index,
            sequence: if log == 0 { sequence + index } else { sequence },
            is_numbered: log == 0,
            at_ms: 1000 + order,
            tag: Tag(log),
            mark: 7,
            bytes: text.as_bytes(),
        })
        .collect();
    Run::from_records(&records, &account()).unwrap()
}

pub(crate) fn account() -> Arc<MemoryAccount> {
    MemoryAccount::new(usize::MAX)
}

pub(crate) fn records(log: u8, order: u64, sequence: u64, texts: &[&str]) -> Entry {
    Entry::Records { log, run: run(log, order, sequence, texts), stream_offset: order * 100 }
}

pub(crate) fn note(order: u64, text: &'static str) -> Entry {
    Entry::Note { tag: 5, order, bytes: Bytes::from_static(text.as_bytes()) }
}

pub(crate) fn id(name: &str) -> StreamId {
    StreamId { name: name.into(), first_sequence: 100 }
}

pub(crate) fn open(directory: &Path) -> Opened {
    let max_age = Duration::MAX;
    Journal::open(Options { segment_bytes: 4096, max_age, ..Options::new(directory) }).unwrap()
}

/// Everything that a reader returns until the end of the stream, one text for each record, note and gap.
pub(crate) fn all(reader: &mut StreamReader) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let found = reader.read(1, &account()).unwrap();
        if found.is_empty() {
            return all;
        }
        for found in found {
            match found {
                Found::Records { log, run } => all.extend(run.records().map(|record| {
                    assert_eq!((record.tag, record.is_numbered), (Tag(log), log == 0));
                    let text = str::from_utf8(record.bytes).unwrap();
                    format!("{} {} {text}", record.order, record.sequence)
                })),
                Found::Note { tag, order, bytes } => {
                    all.push(format!("{order} note {tag} {}", str::from_utf8(&bytes).unwrap()));
                }
                Found::Gap { after_order, after_sequence, next_order, next_sequence } => {
                    all.push(format!("gap {after_order} {after_sequence} {next_order} {next_sequence}"));
                }
            }
        }
    }
}

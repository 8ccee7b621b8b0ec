use proptest::prelude::*;

use super::*;
use crate::batch::{Batch, RecordInfo};
use crate::chunk::{ChunkNumbers, Tag};

/// Builds a ring from chunks, each a list of whether its records are numbered. Order numbers have holes
/// between chunks, because other logs draw from the same counter.
fn ring(chunks: &[Vec<bool>]) -> Ring {
    let account = MemoryAccount::new(1 << 20);
    let (mut ring, mut first_order, mut sequence) = (Ring::default(), 10, 100);
    for records in chunks {
        let mut batch = Batch::default();
        let sequence_before = sequence;
        for is_numbered in records {
            sequence += u64::from(*is_numbered);
            let info = RecordInfo { tag: Tag(0), is_numbered: *is_numbered, mark: 0 };
            batch.push(info, format!("{sequence}").as_bytes());
        }
        let numbers = ChunkNumbers { at_ms: 0, first_order, sequence_before };
        ring.push(Arc::new(Chunk::new(batch.bytes.freeze(), batch.slots, numbers, &account)));
        first_order += records.len() as u64 + 3;
    }
    ring
}

fn chunks() -> impl Strategy<Value = Vec<Vec<bool>>> {
    proptest::collection::vec(proptest::collection::vec(prop::bool::weighted(0.75), 1..6), 1..8)
}

/// Order number, sequence number and whether the record is numbered, for all records after an order number.
fn all_after(ring: &Ring, mut order: u64) -> Vec<(u64, u64, bool)> {
    let mut all = Vec::new();
    while let Some(run) = ring.run_after(order) {
        all.extend(run.records().map(|record| (record.order, record.sequence, record.is_numbered)));
        order = run.last().order;
    }
    all
}

proptest! {
    #[test]
    fn finding_a_position_agrees_with_a_linear_search(chunks in chunks(), evictions in 0_usize..20) {
        let mut ring = ring(&chunks);
        let all = all_after(&ring, 0);
        let mut gone = Vec::new();
        for _ in 0..evictions {
            ring.evict_oldest(&mut |record| gone.push(record.order));
        }
        let held = &all[gone.len()..];
        prop_assert!(!held.is_empty());
        prop_assert_eq!(ring.len(), held.len());
        prop_assert_eq!(&gone, &all[..gone.len()].iter().map(|record| record.0).collect::<Vec<_>>());
        prop_assert_eq!(ring.evicted().order, gone.last().copied().unwrap_or(0));
        prop_assert_eq!(ring.oldest().map(|record| record.order), held.first().map(|record| record.0));
        prop_assert_eq!(ring.newest().map(|record| record.order), held.last().map(|record| record.0));
        prop_assert_eq!(ring.first_sequence(), held.iter().find(|record| record.2).map(|record| record.1));
        for order in 0..all.last().map_or(0, |record| record.0) + 5 {
            let expected: Vec<_> = held.iter().filter(|record| record.0 > order).copied().collect();
            prop_assert_eq!(all_after(&ring, order), expected, "behind {}", order);
        }
        for sequence in 99..all.last().map_or(0, |record| record.1) + 3 {
            let is_seen = |record: &&(u64, u64, bool)| record.1 < sequence || (record.1 == sequence && record.2);
            let unseen: Vec<_> = held.iter().filter(|record| !is_seen(record)).copied().collect();
            prop_assert_eq!(all_after(&ring, ring.order_of_sequence(sequence)), unseen, "sequence {}", sequence);
        }
    }
}

#[test]
fn memory_of_evicted_chunks_is_reused_once_no_reader_uses_it() {
    const RECORDS: usize = 2000;
    let mut ring = ring(&vec![vec![true; RECORDS]; 4]);
    let evict_chunk = |ring: &mut Ring| {
        for _ in 0..RECORDS {
            ring.evict_oldest(&mut |_| {});
        }
    };
    let held = ring.run_after(0).unwrap();
    assert!(held.bytes() >= *SPARE_BYTES.start());
    evict_chunk(&mut ring);
    assert!(ring.spare.is_none(), "a reader holds it");
    drop(held);

    evict_chunk(&mut ring);
    let room = ring.spare.as_ref().unwrap().capacity();
    assert!(ring.take_spare(room + 1).is_none(), "too small");
    assert!(ring.take_spare(room / 2 - 1).is_none(), "far too large");
    assert!(ring.take_spare(room.div_ceil(2)).is_some_and(|spare| spare.is_empty()));
    assert!(ring.take_spare(room).is_none());
}

#[test]
fn memory_of_small_and_of_huge_chunks_is_not_reused() {
    for bytes in [100, 4095, (256 << 10) + 1] {
        let mut ring = ring(&[vec![true]]);
        let (mut batch, account) = (Batch::with_capacity(bytes, 1), MemoryAccount::new(1 << 20));
        batch.push(RecordInfo::numbered(Tag(0)), &vec![b'x'; bytes]);
        let numbers = ChunkNumbers { at_ms: 0, first_order: 50, sequence_before: 101 };
        ring.push(Arc::new(Chunk::new(batch.bytes.freeze(), batch.slots, numbers, &account)));
        let mut last = Batch::default();
        last.push(RecordInfo::numbered(Tag(0)), b"last");
        let numbers = ChunkNumbers { at_ms: 0, first_order: 51, sequence_before: 102 };
        ring.push(Arc::new(Chunk::new(last.bytes.freeze(), last.slots, numbers, &account)));
        while ring.evict_oldest(&mut |_| {}).is_some() {}
        assert!(ring.spare.is_none(), "{bytes}");
    }
}

#[test]
fn an_evicted_record_is_missed_by_readers_before_it() {
    let evicted = |order, sequence, is_numbered| Evicted { order, sequence, is_numbered };
    assert!(evicted(1, 8, true).is_after(7) && !evicted(1, 8, true).is_after(8));
    assert!(evicted(1, 8, false).is_after(8) && !evicted(1, 8, false).is_after(9));
    assert!(!evicted(0, 8, false).is_after(7), "nothing was evicted");
}

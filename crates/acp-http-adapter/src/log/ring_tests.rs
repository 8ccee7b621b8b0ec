use proptest::prelude::*;

use super::*;
use crate::log::{EventKind, Framer};

/// A ring of chunks, each a list of kinds; journal numbers have a hole between chunks, as other instances make.
fn ring(chunks: &[Vec<EventKind>]) -> Ring {
    let (mut ring, mut journal, mut sequence) = (Ring::default(), 10, 100);
    for kinds in chunks {
        let mut framer = Framer::default();
        let before = sequence;
        let slots: Vec<_> = kinds
            .iter()
            .map(|kind| {
                sequence += u64::from(kind.is_numbered());
                framer.push(*kind, kind.is_numbered().then_some(sequence), format!("{sequence}").as_bytes())
            })
            .collect();
        let chunk =
            Chunk { bytes: framer.finish(), at_ms: 0, first_journal: journal, sequence_before: before };
        ring.push(chunk, &slots);
        journal += kinds.len() as u64 + 3;
    }
    ring
}

fn chunks() -> impl Strategy<Value = Vec<Vec<EventKind>>> {
    let kind = prop_oneof![3 => Just(EventKind::Message), 1 => Just(EventKind::Unparsed)];
    proptest::collection::vec(proptest::collection::vec(kind, 1..6), 1..8)
}

proptest! {
    #[test]
    fn every_way_to_find_a_place_agrees_with_looking_at_each_event(chunks in chunks(), forgotten in 0_usize..20) {
        let mut ring = ring(&chunks);
        let all: Vec<(u64, u64, bool)> =
            ring.from(0).map(|entry| (entry.journal, entry.sequence, entry.kind.is_numbered())).collect();
        let mut gone = Vec::new();
        for _ in 0..forgotten {
            ring.forget_oldest(&mut |entry| gone.push(entry.journal));
        }
        let held = &all[gone.len()..];
        prop_assert!(!held.is_empty());
        prop_assert_eq!(&gone, &all[..gone.len()].iter().map(|event| event.0).collect::<Vec<_>>());
        prop_assert_eq!(ring.first(), gone.len() as u64);
        prop_assert_eq!(ring.lost().journal, gone.last().copied().unwrap_or(0));
        let seen: Vec<_> = ring.from(0).map(|entry| entry.journal).collect();
        prop_assert_eq!(&seen, &held.iter().map(|event| event.0).collect::<Vec<_>>());
        prop_assert_eq!(ring.newest().map(|entry| entry.journal), seen.last().copied());
        for journal in 0..all.last().map_or(0, |event| event.0) + 5 {
            let expected = ring.first() + held.iter().filter(|event| event.0 <= journal).count() as u64;
            prop_assert_eq!(ring.after_journal(journal), expected, "journal {}", journal);
        }
        for sequence in 99..all.last().map_or(0, |event| event.1) + 3 {
            let before = |event: &&(u64, u64, bool)| event.1 < sequence || (event.1 == sequence && event.2);
            let expected = ring.first() + held.iter().filter(before).count() as u64;
            prop_assert_eq!(ring.after_sequence(sequence), expected, "sequence {}", sequence);
        }
    }

    #[test]
    fn runs_are_the_same_frames_in_fewer_pieces(chunks in chunks(), forgotten in 0_usize..20, from in 0_u64..30) {
        let mut ring = ring(&chunks);
        for _ in 0..forgotten {
            ring.forget_oldest(&mut |_| {});
        }
        let mut expected = Framer::default();
        for entry in ring.from(from) {
            expected.push(entry.kind, entry.kind.is_numbered().then_some(entry.sequence), entry.data);
        }
        let (mut frames, mut count, mut last) = (Vec::new(), 0, None);
        for run in ring.runs_from(from) {
            prop_assert_eq!(run.frames(), &run.share()[..]);
            frames.extend_from_slice(run.frames());
            (count, last) = (count + run.count, Some(run.sequence));
        }
        prop_assert_eq!(&frames[..], &expected.finish()[..]);
        prop_assert_eq!(count, ring.from(from).count() as u64);
        prop_assert_eq!(last, ring.from(from).last().map(|entry| entry.sequence));
    }
}

#[test]
fn memory_of_forgotten_chunks_is_used_again_once_nobody_holds_it() {
    const LINES: usize = 300;
    let mut ring = ring(&vec![vec![EventKind::Message; LINES]; 4]);
    let forget_chunk = |ring: &mut Ring| {
        for _ in 0..LINES {
            ring.forget_oldest(&mut |_| {});
        }
    };
    let held = ring.runs_from(0).next().unwrap().share();
    assert!(held.len() >= MIN_SPARE);
    let where_it_was = |ring: &Ring| ring.runs_from(0).next().unwrap().frames().as_ptr();

    forget_chunk(&mut ring);
    assert!(ring.take_spare(held.len()).is_none() && ring.spare.is_none(), "a reader holds it");
    drop(held);

    let second = where_it_was(&ring);
    forget_chunk(&mut ring);
    let room = ring.spare.as_ref().unwrap().capacity();
    assert!(ring.take_spare(room + 1).is_none(), "too small");
    assert!(ring.take_spare(room / 2 - 1).is_none(), "far too large");
    let spare = ring.take_spare(room).unwrap();
    assert_eq!((spare.len(), spare.as_ptr()), (0, second));
    assert!(ring.take_spare(room).is_none());
}

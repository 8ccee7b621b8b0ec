use event_log::{MemoryAccount, OrderCounter, Read, Reader, Retention};

use super::*;
use crate::event::Event;

const MESSAGE: &str = r#"{"jsonrpc":"2.0","method":"x"}"#;

fn log() -> Log {
    let retention = Retention { max_bytes: 1 << 20, max_records: 1 << 16 };
    Log::new(1, Arc::new(OrderCounter::starting_at(1)), MemoryAccount::new(1 << 20), retention)
}

fn feed_one(lines: &mut Lines, piece: &[u8]) -> Option<Output> {
    let output = Output::new(&mut log(), lines.size_with(piece));
    lines.feed(piece, output)
}

/// The records as kind and payload.
fn records(output: Output) -> Vec<(EventKind, String)> {
    let mut log = log();
    log.append(output.records, 0, |_| {});
    let Read::Run(run) = Reader::at_oldest(&[&log]).read(&[&log], u64::MAX) else { return Vec::new() };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    run.records().map(Event::new).map(|event| (event.kind(), text(event.bytes()))).collect()
}

/// Feeds pieces one after the other. Returns the resulting records as kind and payload.
fn feed(max_line: usize, pieces: &[&[u8]]) -> Vec<(EventKind, String)> {
    let mut lines = Lines::new(max_line);
    let mut outputs: Vec<Output> = pieces.iter().filter_map(|piece| feed_one(&mut lines, piece)).collect();
    let output = Output::new(&mut log(), lines.size_with(&[]));
    outputs.extend(lines.finish(output));
    outputs.into_iter().flat_map(records).collect()
}

const NOTIFICATION: EventKind = EventKind::Message(MessageKind::Notification);

#[test]
fn lines_end_at_lf_however_the_reads_cut_them() {
    let text = format!("{MESSAGE}\n{MESSAGE}\r\n\n  \n{MESSAGE}");
    let whole = feed(1000, &[text.as_bytes()]);
    let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(whole, feed(1000, &bytes));
    assert_eq!(whole, vec![(NOTIFICATION, MESSAGE.to_owned()); 3]);
}

#[test]
fn memory_is_reserved_for_complete_lines_only() {
    let mut lines = Lines::new(1000);
    assert_eq!(lines.size_with(b"beginning"), BatchSize { bytes: 0, lines: 0 });
    assert!(feed_one(&mut lines, b"beginning").is_none());
    assert_eq!(lines.size_with(b" end\nnext\nanother"), BatchSize { bytes: 9 + 9, lines: 2 });
}

#[test]
fn a_separator_that_is_no_lf_does_not_end_a_line() {
    let message = "{\"jsonrpc\":\"2.0\",\"method\":\"a\u{2028}b\u{85}c\"}";
    assert_eq!(feed(1000, &[format!("{message}\n").as_bytes()]), [(NOTIFICATION, message.to_owned())]);
}

#[test]
fn a_line_that_is_not_a_message_is_reported_and_the_next_message_arrives() {
    let mut input = b"starting up\n{\"level\":\"info\"}\n\xff\xfe\n".to_vec();
    input.extend_from_slice(MESSAGE.as_bytes());
    input.push(b'\n');
    let events = feed(1000, &[&input]);
    let kinds: Vec<_> = events.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [EventKind::Unparsed, EventKind::Unparsed, EventKind::Unparsed, NOTIFICATION]);
    let first: serde_json::Value = serde_json::from_str(&events[0].1).unwrap();
    assert_eq!((&first["line"], &first["bytes"]), (&json!("starting up"), &json!(11)));
}

#[test]
fn the_reported_beginning_of_a_long_line_ends_between_characters() {
    let line = "é".repeat(500);
    let events = feed(10_000, &[format!("{line}\n").as_bytes()]);
    let shown: serde_json::Value = serde_json::from_str(&events[0].1).unwrap();
    assert_eq!(shown["line"], "é".repeat(200));
    assert_eq!(shown["bytes"], 1000);
}

#[test]
fn a_line_over_the_limit_is_skipped_with_bounded_memory_and_reported() {
    let mut lines = Lines::new(1000);
    for _ in 0..1000 {
        assert!(feed_one(&mut lines, &[b'x'; 1000]).is_none());
        assert!(lines.partial.capacity() <= 2000, "{}", lines.partial.capacity());
    }
    let output = feed_one(&mut lines, format!("\n{MESSAGE}\n").as_bytes()).unwrap();
    let events = records(output);
    assert_eq!(events.len(), 2);
    let reported: serde_json::Value = serde_json::from_str(&events[0].1).unwrap();
    assert_eq!(reported["bytes"], 1_000_000);
    assert!(reported["error"].as_str().unwrap().contains("--max-message-bytes"));
    assert_eq!(events[1].1, MESSAGE);
}

#[test]
fn a_line_of_exactly_the_limit_is_a_message() {
    let message = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}", "x".repeat(100));
    let events = feed(message.len(), &[format!("{message}\n").as_bytes()]);
    assert_eq!(events, [(NOTIFICATION, message.clone())]);
    let events = feed(message.len() - 1, &[format!("{message}\n").as_bytes()]);
    assert_eq!(events[0].0, EventKind::Unparsed);
}

proptest::proptest! {
    #[test]
    fn every_message_stays_whole_however_the_reads_cut_it(
        sizes in proptest::collection::vec(0usize..300, 1..20),
        cuts in proptest::collection::vec(1usize..120, 1..60),
    ) {
        let messages: Vec<String> =
            sizes.iter().map(|size| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}", "é".repeat(*size))).collect();
        let text = messages.join("\n") + "\n";
        let mut rest = text.as_bytes();
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break; }
            let (piece, tail) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        let out: Vec<String> = feed(10_000, &pieces).into_iter().map(|(_, data)| data).collect();
        proptest::prop_assert_eq!(out, messages);
    }
}

#[test]
fn a_dropped_line_is_reported_with_its_full_length_and_holds_no_memory() {
    let mut lines = Lines::new(1 << 20);
    assert!(feed_one(&mut lines, &[b'x'; LARGE]).is_none());
    assert!(lines.held_bytes() >= LARGE);
    lines.give_up("a reason");
    assert_eq!(lines.held_bytes(), 0);
    let rest = format!("{}\n{MESSAGE}\n", "y".repeat(1000));
    let output = feed_one(&mut lines, rest.as_bytes()).unwrap();
    let [(EventKind::Unparsed, data), (kind, message)] = &records(output)[..] else { panic!("two records") };
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(
        (data["error"].as_str(), data["bytes"].as_u64()),
        (Some("a reason"), Some(LARGE as u64 + 1000))
    );
    assert_eq!((*kind, message.as_str()), (NOTIFICATION, MESSAGE));
}

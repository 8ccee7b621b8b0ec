use proptest::prelude::*;

use super::*;

const CHUNK: &str = r#"{"jsonrpc":"2.0","method":"update","params":{"id":"s-1","at":[-10.25e17,204],"text":"the wörd €"},"x":"y"}"#;

fn knowing(line: &str) -> NotificationTemplate {
    let mut template = NotificationTemplate::default();
    assert_eq!(template.parse(line.as_bytes()), Ok(Envelope::Notification));
    template
}

/// Reads a line as an instance reads the lines of its agent.
fn read(template: &mut NotificationTemplate, line: &[u8]) -> Result<Envelope, EnvelopeError> {
    if template.covers(line) { Ok(Envelope::Notification) } else { template.parse(line) }
}

fn covered(line: impl AsRef<[u8]>) -> bool {
    knowing(CHUNK).covers(line.as_ref())
}

#[test]
fn another_word_in_a_string_or_a_number_is_the_same_message() {
    for (from, to) in [
        ("", ""),
        ("the w", "a longer w"),
        ("wörd €", ""),
        ("€", "₭"),
        ("ö", "日本"),
        ("s-1", "session-2"),
        (r#""at""#, r#""on""#),
        ("204", "2999"),
        ("204", "22"),
        ("25e17", "21e17"),
        ("e17", "e100"),
    ] {
        let line = CHUNK.replace(from, to);
        assert!(covered(&line), "{line}");
        assert_eq!(Envelope::parse(line.as_bytes()), Ok(Envelope::Notification), "{line}");
    }
}

#[test]
fn a_difference_that_could_change_the_kind_is_parsed() {
    for (from, to) in [
        ("2.0", "2.1"),
        ("method", "methods"),
        ("update", "other"),
        (r#""params""#, r#""result""#),
        (r#""x""#, r#""id""#),
        (r#""y""#, r#""z""#),
        ("the", r"th\u0065"),
        ("the", "\u{7}"),
        ("204", "04"),
        ("204", "2x4"),
        ("204", "2"),
        ("204", r#"2","id":"#),
        ("17,", "17 ,"),
        ("the", r#"","id":1"#),
        ("},", ","),
    ] {
        let line = CHUNK.replace(from, to);
        assert!(!covered(&line), "{line}");
    }
    assert!(!covered(""));
    assert!(!covered(&CHUNK[..CHUNK.len() - 20]));
    assert!(!covered(format!("{CHUNK} x")));
}

#[test]
fn a_character_cut_in_two_is_not_a_string() {
    // Cuts a two-byte character in half, and uses a character that starts like a three-byte one but ends
    // differently.
    let text = CHUNK.as_bytes();
    let at = memchr::memmem::find(text, "ö".as_bytes()).unwrap();
    let mut halved = text.to_vec();
    halved.remove(at + 1);
    assert!(!covered(&halved));
    let mut wrong = text.to_vec();
    wrong[at + 1] = b'x';
    assert!(!covered(&wrong));
    assert!(read(&mut knowing(CHUNK), &wrong).is_err());
}

#[test]
fn only_short_notifications_without_escapes_are_remembered() {
    let mut template = NotificationTemplate::default();
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"b"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":"b"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"m","params":{"a":"b\n"}}"#.to_owned(),
        "{\"jsonrpc\":\"2.0\",\r\"method\":\"m\",\"params\":{\"a\":\"b\"}}".to_owned(),
        format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":"{}"}}}}"#, "b".repeat(MAX_REMEMBERED)),
    ] {
        template.parse(line.as_bytes()).unwrap();
        assert!(template.remembered.is_empty(), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_covered_line_parses_as_a_notification(
        start in 0..CHUNK.len(),
        length in 0..12_usize,
        with in proptest::collection::vec(
            prop_oneof![proptest::sample::select(br#"0123456789"\{}[]:,.e- ab"#.to_vec()), any::<u8>()], 0..8),
    ) {
        let mut line = CHUNK.as_bytes().to_vec();
        let end = (start + length).min(line.len());
        line.splice(start..end, with);
        let fresh = Envelope::parse(&line);
        let mut template = knowing(CHUNK);
        prop_assert_eq!(read(&mut template, &line), fresh.clone());
        // The template that was learned from that line is correct too.
        prop_assert_eq!(read(&mut template, CHUNK.as_bytes()), Ok(Envelope::Notification));
        prop_assert_eq!(read(&mut template, &line), fresh);
    }

    #[test]
    fn consecutive_lines_read_the_same_as_parsed_alone(
        words in proptest::collection::vec(("[a-zé\"\\\\\r]{0,4}", "[a-z]{0,3}", "-?[0-9]{1,4}"), 1..20),
    ) {
        let mut template = NotificationTemplate::default();
        for (text, session, number) in words {
            let line = format!(
                r#"{{"jsonrpc":"2.0","method":"m","params":{{"s":"{session}","n":[{number},"{text}"]}}}}"#
            );
            prop_assert_eq!(read(&mut template, line.as_bytes()), Envelope::parse(line.as_bytes()), "{}", line);
        }
    }
}

use proptest::prelude::*;

use super::*;

const PLAIN: &str = "POST /v1/acp/a?agent=b HTTP/1.1\r\nHost: localhost:2468\r\nContent-Type: application/json\r\n\
    Authorization: Bearer abc\r\nConnection: keep-alive\r\nContent-Length: 17\r\nAccept: */*\r\n\r\n";

fn head(text: &[u8]) -> Option<PlainHead> {
    match PlainHead::find(text) {
        Found::Head(head) => Some(*head),
        Found::More | Found::Unusual => None,
    }
}

#[test]
fn a_plain_head_is_read_without_its_length() {
    let found = head(PLAIN.as_bytes()).unwrap();
    assert_eq!((found.body_length, found.text.len()), (17, PLAIN.len()));
    assert_eq!(found.parts.uri, "/v1/acp/a?agent=b");
    assert_eq!(found.parts.headers["authorization"], "Bearer abc");
    assert_eq!(found.parts.headers.len(), 5);
    assert!(!found.parts.headers.contains_key("content-length"));
}

#[test]
fn the_beginning_of_a_plain_head_needs_more() {
    for length in 0..PLAIN.len() {
        assert!(matches!(PlainHead::find(&PLAIN.as_bytes()[..length]), Found::More), "{length}");
    }
}

#[test]
fn whatever_may_mean_more_than_it_says_is_unusual() {
    let with = |old: &str, new: &str| {
        assert!(PLAIN.contains(old));
        PLAIN.replace(old, new)
    };
    for text in [
        with("POST", "GET"),
        with("POST ", "PRI * HTTP/2.0"),
        with("POST /v1/acp/a?agent=b", "POST *"),
        with("POST /", "POST http://elsewhere/"),
        with("HTTP/1.1", "HTTP/1.0"),
        with("HTTP/1.1", "HTTP/2.0"),
        with("keep-alive", "close"),
        with("keep-alive", "keep-alive, upgrade"),
        with("Accept: */*", "Transfer-Encoding: chunked"),
        with("Accept: */*", "transfer-encoding: identity"),
        with("Accept: */*", "Expect: 100-continue"),
        with("Accept: */*", "Upgrade: h2c"),
        with("Accept: */*", "TE: trailers"),
        with("Accept: */*", "Trailer: a"),
        with("Accept: */*", "Content-Length: 17"),
        with("Accept: */*", "Content-Length: 18"),
        with("Accept: */*", " folded"),
        with("Accept: */*", "Accept : */*"),
        with("Accept: */*", "Accept: a\0b"),
        with("Content-Length: 17\r\n", ""),
        with(": 17", ": 0"),
        with(": 17", ": "),
        with(": 17", ": +17"),
        with(": 17", ": -17"),
        with(": 17", ": 0x17"),
        with(": 17", ": 17, 17"),
        with(": 17", ": 123456789"),
        with("Accept: */*", &"x: y\r\n".repeat(MOST_HEADERS)),
        with("*/*", &"x".repeat(LONGEST)),
    ] {
        assert!(matches!(PlainHead::find(text.as_bytes()), Found::Unusual), "{text}");
    }
    assert!(matches!(PlainHead::find(b"G"), Found::Unusual), "no more is needed to know");
}

#[test]
fn a_head_is_known_again_whatever_the_length_of_its_body() {
    let known = head(PLAIN.as_bytes()).unwrap().text;
    for (digits, length) in [("17", 17), ("1", 1), ("4096", 4096), ("007", 7)] {
        let again = PLAIN.replace(": 17", &format!(": {digits}"));
        assert_eq!(known.find(again.as_bytes()), Some((again.len(), length)));
        assert_eq!(known.find(format!("{again}{{}}").as_bytes()), Some((again.len(), length)));
        assert_eq!(known.find(&again.as_bytes()[..again.len() - 1]), None);
    }
    for other in [": 0", ": 00", ": ", ": 1 7", ": 17;", ": 123456789", ": 99999999999999999999999"] {
        assert_eq!(known.find(PLAIN.replace(": 17", other).as_bytes()), None, "{other}");
    }
    for (old, new) in [("abc", "abd"), ("/a?", "/b?"), ("POST", "PUT"), ("\r\n\r\n", "\r\nA: b\r\n\r\n")] {
        assert_eq!(known.find(PLAIN.replace(old, new).as_bytes()), None, "{new}");
    }
}

/// A head whose length may stand anywhere, with blanks around it or none, and lines that end in either way.
fn any_head() -> impl Strategy<Value = String> {
    let header = prop_oneof![
        Just("Host: a".to_owned()),
        Just("Accept: */*".to_owned()),
        Just("X-Length: 17".to_owned()),
        "[a-zA-Z-]{1,12}: {0,3}[ -~]{0,20}",
    ];
    let length = ("[ \t]{0,3}", 1_usize..99_999, "[ \t]{0,3}")
        .prop_map(|(before, length, after)| format!("Content-Length:{before}{length}{after}"));
    let end = prop_oneof![Just("\r\n"), Just("\n")];
    (proptest::collection::vec(header, 0..6), length, any::<prop::sample::Index>(), end).prop_map(
        |(mut headers, length, place, end)| {
            headers.insert(place.index(headers.len() + 1), length);
            format!("POST /a HTTP/1.1{end}{}{end}{end}", headers.join(end))
        },
    )
}

proptest! {
    /// Knowing a head again must never give anything that reading it would not.
    #[test]
    fn a_head_that_is_known_again_is_what_it_would_be_read_as(
        text in any_head(),
        length in "[0-9]{0,9}",
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let Some(known) = head(text.as_bytes()) else { return Ok(()) };
        let mut again = [&*known.text.before, length.as_bytes(), &*known.text.after, b"{}"].concat();
        for (place, byte) in changes {
            let place = place.index(again.len());
            again[place] = byte;
        }
        if let Some((head_length, body_length)) = known.text.find(&again) {
            let read = head(&again).expect("it can be read");
            prop_assert_eq!((head_length, body_length), (read.text.len(), read.body_length));
            prop_assert_eq!(read.parts.headers, known.parts.headers);
            prop_assert_eq!(read.parts.uri, known.parts.uri);
        }
    }
}

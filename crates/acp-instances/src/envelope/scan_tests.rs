use proptest::prelude::*;

use super::*;
use crate::envelope::{Envelope, EnvelopeError};

/// Asserts that the fast scanner, if it does not give up, returns what the slow reader returns.
fn agree(text: &str) {
    if let Some((fields, _params)) = fields(text) {
        let fast = fields.into_envelope();
        let slow = Envelope::parse_slowly(text);
        assert_eq!(fast, slow, "{text}");
        assert!(!matches!(slow, Err(EnvelopeError::Json(_))), "{text}");
    }
}

#[test]
fn the_usual_messages_are_read_fast() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"a":[1,-2.5e3,{"b":null}],"c":"d\n\u0041"}}"#,
        r#" { "jsonrpc" : "2.0" , "id" : "a\"b" , "result" : [ ] , "x" : { } } "#,
        r#"{"jsonrpc":"2.0","id":0,"error":{"text":"ünïcödé in a string that is longer than eight bytes"}}"#,
    ] {
        assert!(fields(text).is_some(), "{text}");
        agree(text);
    }
}

#[test]
fn the_scanner_leaves_invalid_json_to_the_slow_reader() {
    for text in [
        "",
        "{",
        "{}",
        "[]",
        "17",
        r#"{"a":01}"#,
        r#"{"a":1.}"#,
        r#"{"a":-}"#,
        r#"{"a":1e}"#,
        r#"{"a":tru}"#,
        r#"{"a":[1,]}"#,
        r#"{"a":{"b"}}"#,
        r#"{"a":{"b":1,}}"#,
        r#"{"a":[1}}"#,
        r#"{"a":"\x"}"#,
        r#"{"a":"\u12g4"}"#,
        "{\"a\":\"\n\"}",
        r#"{"a":1} x"#,
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        r#"{"a":"unended}"#,
        r#"{"id":true}"#,
        r#"{"\u0069d":1}"#,
    ] {
        assert!(fields(text).is_none(), "{text}");
    }
}

#[test]
fn a_special_byte_is_found_at_every_position() {
    for special in [b'"', b'\\', b'\n', 0x1f, 0] {
        for length in 0..40_usize {
            for rest in 0..20_usize {
                let mut bytes = vec![0xc3; length];
                bytes.push(special);
                bytes.extend(std::iter::repeat_n(b'"', rest));
                assert_eq!(special_from(&bytes, 0), Some(length));
            }
            assert_eq!(special_from(&vec![b' '; length], 0), None);
        }
    }
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,2})?([eE][+-]?[0-9]{1,2})?",
        ".{0,12}".prop_map(|text| serde_json::to_string(&text).unwrap_or_default()),
        Just(r#""2.0""#.to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof![
            Just("id"),
            Just("jsonrpc"),
            Just("method"),
            Just("result"),
            Just("error"),
            Just("a b")
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(" ,"))),
            proptest::collection::vec((key, inner), 0..5).prop_map(|fields| {
                let fields: Vec<_> =
                    fields.into_iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn scanner_and_slow_reader_agree_on_json(text in json()) {
        agree(&text);
    }

    #[test]
    fn scanner_and_slow_reader_agree_on_json_with_one_changed_byte(text in json(), at in any::<prop::sample::Index>(), byte in 0_u8..128) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) {
            agree(&text);
        }
    }
}

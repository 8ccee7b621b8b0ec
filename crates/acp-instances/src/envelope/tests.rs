use super::*;

fn id(json: &str) -> RequestId {
    RequestId::parse(json).unwrap()
}

fn parse(text: &str) -> Result<Envelope, EnvelopeError> {
    Envelope::parse(text.as_bytes())
}

#[test]
fn the_kind_follows_from_method_id_and_outcome() {
    let cases = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, Envelope::Request(id("1"))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, Envelope::Request(id("null"))),
        (r#"{"jsonrpc":"2.0","method":"x"}"#, Envelope::Notification),
        (
            r#"{"jsonrpc":"2.0","id":"a","result":null}"#,
            Envelope::Response { id: id(r#""a""#), is_error: false },
        ),
        (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, Envelope::Response { id: id("null"), is_error: true }),
        (r#"{"jsonrpc":"2.0","error":{}}"#, Envelope::Response { id: id("null"), is_error: true }),
        (
            r#"{"result":{"id":5},"id":7,"jsonrpc":"2.0"}"#,
            Envelope::Response { id: id("7"), is_error: false },
        ),
        (r#" {"jsonrpc":"2.0","\u0069d":2,"method":"x"} "#, Envelope::Request(id("2"))),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn invalid_messages_are_refused_with_a_reason() {
    let shape = |text: &str| match parse(text) {
        Err(EnvelopeError::Shape(reason)) => reason,
        other => panic!("{text}: {other:?}"),
    };
    assert!(shape(r#"[{"jsonrpc":"2.0","method":"x"}]"#).contains("batch"));
    assert!(shape(r#"{"method":"x"}"#).contains("jsonrpc"));
    assert!(shape(r#"{"jsonrpc":"1.0","method":"x"}"#).contains("jsonrpc"));
    assert!(shape(r#"{"jsonrpc":"2.0","id":1}"#).contains("method"));
    assert!(shape(r#"{"jsonrpc":"2.0","id":true,"method":"x"}"#).contains("id must be"));
    assert!(shape("17").contains("object"));
    for text in ["", "{", "nonsense", r#"{"jsonrpc":"2.0","method":"x"} trailing"#, "{\"a\":\"\n\"}"] {
        assert!(matches!(parse(text), Err(EnvelopeError::Json(_))), "{text}");
    }
    assert!(matches!(Envelope::parse(b"{\"a\":\"\xff\"}"), Err(EnvelopeError::Encoding(_))));
}

#[test]
fn deeply_nested_messages_are_accepted() {
    let deep =
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":{}{}}}"#, "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(parse(&deep).unwrap(), Envelope::Notification);
}

#[test]
fn flattening_touches_only_line_breaks() {
    let mut message = b"{\r\n\"a\": 1,\r\"b\":2\n}".to_vec();
    flatten(&mut message);
    assert_eq!(message, b"{  \"a\": 1, \"b\":2 }");
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = Envelope::parse(&bytes);
    }
}

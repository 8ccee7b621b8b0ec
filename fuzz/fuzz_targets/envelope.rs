//! Fuzzes messages of clients and agents: the two readers of envelopes agree with each other and with a plain
//! JSON parser, and a message reaches the agent unchanged.

#![no_main]

use acp_instances::fuzzing::{Template, parse_slowly};
use acp_instances::{Envelope, Message, RequestId};
use bytes::BytesMut;
use event_log::{MemoryAccount, Reservation};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    one_message(data);
    // Agents send one message per line. A template recognises lines that resemble an earlier one.
    let mut template = Template::default();
    for line in data.split(|byte| *byte == b'\n') {
        let recognised = template.read(line);
        assert_eq!(recognised, Envelope::parse(line), "the template disagrees with the parser");
    }
});

fn one_message(data: &[u8]) {
    let parsed = Envelope::parse(data);
    let Ok(text) = std::str::from_utf8(data) else {
        assert!(parsed.is_err(), "a message is UTF-8");
        return;
    };
    assert_eq!(parsed, parse_slowly(text), "the fast reader disagrees with the slow one");
    let Ok(envelope) = parsed else { return };

    // Compare with a plain JSON parser, which refuses some numbers that are valid JSON, and merges duplicate
    // keys.
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        agrees(&envelope, &value);
    }
    if let Envelope::Request(id) | Envelope::Response { id, .. } = &envelope {
        assert_eq!(
            RequestId::parse(id.as_json()).as_ref(),
            Some(id),
            "the canonical form of an id is stable"
        );
    }

    let memory = Reservation::empty(&MemoryAccount::new(usize::MAX >> 1));
    let message = Message::parse(BytesMut::from(data), memory).expect("it was parsed before");
    assert_eq!(message.envelope(), &envelope);
    let sent = message.bytes();
    assert_eq!(sent.len(), data.len());
    for (sent, given) in sent.iter().zip(data) {
        let is_line_break = matches!(given, b'\n' | b'\r');
        assert_eq!(*sent, if is_line_break { b' ' } else { *given }, "only line breaks change");
    }
    assert_eq!(Envelope::parse(sent), Ok(envelope), "and they change nothing about the message");
}

fn agrees(envelope: &Envelope, value: &Value) {
    let fields = value.as_object().expect("a message is an object");
    let has = |name: &str| fields.contains_key(name);
    match envelope {
        Envelope::Request(_) => assert!(has("method") && has("id")),
        Envelope::Notification => assert!(has("method") && !has("id")),
        Envelope::Response { is_error, .. } => {
            assert!(!has("method") && (has("result") || has("error")));
            assert_eq!(*is_error, !has("result"));
        }
    }
    assert_eq!(fields.get("jsonrpc"), Some(&Value::from("2.0")));
    if let (Envelope::Request(id) | Envelope::Response { id, .. }, Some(given)) = (envelope, fields.get("id"))
    {
        assert_eq!(id.is_null(), given.is_null());
        if let Some(text) = given.as_str() {
            assert_eq!(serde_json::from_str::<String>(id.as_json()).ok().as_deref(), Some(text));
        }
    }
}

//! Bytes that are not a valid request, and requests that never end.

use std::io::{BufReader, Write};
use std::sync::Arc;

use serde_json::json;
use test_harness::rpc::call;

use super::messages::post;
use crate::random::Random;
use crate::round::{CALM, ROUGH, Round};
use crate::wire::{Answer, Ask, connect};

/// Messages that have to be refused, each with the only error that fits.
pub(super) fn bad_messages(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&CALM);
    let long = call("i".repeat(random.size(4097..9000)), "echo", json!({}));
    let (ask, code) = match random.number(0..8) {
        0 => (post(server_id, random.bytes(200)), "invalid_json"),
        1 => (post(server_id, r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#), "invalid_envelope"),
        2 => (post(server_id, r#"{"id":1,"method":"x"}"#), "invalid_envelope"),
        3 => (post(server_id, long), "invalid_envelope"),
        4 => (post(".hidden", call(1, "x", json!({}))), "invalid_server_id"),
        5 => (post("rough-new?agent=nobody", call(1, "x", json!({}))), "unknown_agent"),
        6 => (
            Ask::new("POST", format!("/v1/acp/{server_id}")).body("text/plain", call(1, "x", json!({}))),
            "unsupported_media_type",
        ),
        _ => (
            Ask::new("GET", format!("/v1/acp/{server_id}"))
                .header("Accept", "text/event-stream")
                .header("Last-Event-ID", "j1"),
            "invalid_cursor",
        ),
    };
    round.note(format!("{code} at {}", ask.target));
    round.ask(&ask, &[], &[code]);
}

/// Bodies over the limit, which are sent whole: the client has to be able to read the answer.
pub(super) fn oversized(round: &Arc<Round>, random: &mut Random) {
    let size = random.size((4 << 20) + 1..9 << 20);
    let server_id = *random.pick(&CALM);
    round.note(format!("{size} bytes to {server_id}"));
    let ask = post(server_id, vec![b' '; size]);
    match random.number(0..3) {
        0 => drop(round.ask(&ask, &[], &["payload_too_large"])),
        1 => drop(round.ask(&Ask { target: "/v1/health".to_owned(), ..ask }, &[], &["method_not_allowed"])),
        _ => chunked(round, server_id, size),
    }
}

/// A body without a length.
fn chunked(round: &Round, server_id: &str, size: usize) {
    let ask = Ask::new("POST", format!("/v1/acp/{server_id}"))
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked");
    let what = "a chunked body over the limit";
    let answer = connect(round.port).and_then(|mut connection| {
        connection.write_all(&ask.bytes())?;
        let chunk =
            [format!("{:x}\r\n", 1 << 16).into_bytes(), vec![b' '; 1 << 16], b"\r\n".to_vec()].concat();
        // The server may answer and close the connection before the whole body is sent. The answer can be read
        // anyway.
        let sent = (0..=size >> 16).try_for_each(|_| connection.write_all(&chunk));
        let _ = sent.and_then(|()| connection.write_all(b"0\r\n\r\n"));
        Answer::read(&mut BufReader::new(connection))
    });
    match answer {
        Ok(answer) => drop(round.check(what, answer, &[], &["payload_too_large"])),
        Err(error) => round.failed(what, &error),
    }
}

/// Requests that stop in the middle. Some of them stay open until the end of the round.
pub(super) fn half(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&ROUGH);
    let count = random.number(1..12);
    round.note(format!("{count} half requests"));
    for _ in 0..count {
        let Ok(mut connection) = connect(round.port) else { return };
        let whole = match random.number(0..5) {
            0 => post(server_id, call(1, "echo", json!("e".repeat(random.size(0..2 << 20))))).bytes(),
            1 => {
                let filler = "x".repeat(random.size(0..60_000));
                Ask::new("GET", "/v1/health").header("X-Filler", filler).bytes()
            }
            2 => Ask::new("PUT", "/v1/fs/file?path=half").body("text/plain", vec![b'h'; 100_000]).bytes(),
            3 => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec(),
            _ => random.bytes(300),
        };
        // Without the last byte, so that it is never complete.
        let end = random.size(1..whole.len());
        let _ = connection.write_all(&whole[..end]);
        if random.one_in(2) {
            round.hold(connection);
        }
    }
}

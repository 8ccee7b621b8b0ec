//! Writes to standard output, whole lines at a time.

use std::io::Write;

use serde_json::{Value, json};

/// Writes raw bytes.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut output = std::io::stdout().lock();
    // The output is closed: exit, as agents do.
    if output.write_all(bytes).and_then(|()| output.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Writes one message.
pub(crate) fn message(message: &Value) {
    bytes(format!("{message}\n").as_bytes());
}

/// Answers a request, if the command was one. The id is returned as received.
pub(crate) fn answer(id: Option<&str>, result: &Value) {
    if let Some(id) = id {
        bytes(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").as_bytes());
    }
}

/// Refuses a request.
pub(crate) fn refuse(id: Option<&str>, code: i32, text: &str) {
    let error = json!({"code": code, "message": text});
    if let Some(id) = id {
        bytes(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n").as_bytes());
    }
}

/// Sends a notification.
pub(crate) fn notify(method: &str, params: &Value) {
    message(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
}

/// Sends a notification whose `filler` has this many bytes, without building it in memory.
pub(crate) fn filled(method: &str, index: u64, length: usize) {
    let head =
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{\"index\":{index},\"filler\":\"");
    let mut output = std::io::stdout().lock();
    let block = [b'x'; 64 << 10];
    let mut left = length;
    let mut written = output.write_all(head.as_bytes());
    while left > 0 && written.is_ok() {
        let count = left.min(block.len());
        written = output.write_all(&block[..count]);
        left -= count;
    }
    if written.and_then(|()| output.write_all(b"\"}}\n")).and_then(|()| output.flush()).is_err() {
        std::process::exit(0);
    }
}

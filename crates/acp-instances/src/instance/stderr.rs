//! The task that reads an agent's standard error. The text goes to the server's log, and its end into the
//! exit record. Readers of messages never receive it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::unix::pipe;

use super::Instance;

/// How many bytes of the end are kept.
const TAIL_BYTES: usize = 4096;
/// How many bytes of one line go to the server's log.
const LOGGED_BYTES: usize = 1024;

/// The last bytes that the agent wrote to its standard error.
#[derive(Debug, Default, Clone)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (tail.len() + bytes.len()).saturating_sub(TAIL_BYTES);
        tail.drain(..excess);
        tail.extend(bytes);
    }

    /// The tail as text. A character cut in half at the beginning is left out.
    pub(super) fn text(&self) -> String {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: &[u8] = tail.make_contiguous();
        let cut = bytes.len() == TAIL_BYTES;
        let continuation = bytes.iter().take(3).take_while(|byte| cut && **byte & 0xC0 == 0x80).count();
        String::from_utf8_lossy(&bytes[continuation..]).into_owned()
    }
}

/// Reads until the agent closes its standard error.
pub(super) async fn read(instance: Arc<Instance>, pipe: pipe::Receiver, tail: Tail) {
    let mut line = Vec::new();
    loop {
        if pipe.readable().await.is_err() {
            break;
        }
        // A buffer on the stack that is not held across an await, so an idle agent costs no memory here.
        let mut scratch = [0; 8 << 10];
        match pipe.try_read(&mut scratch) {
            Ok(0) => break,
            Ok(count) => {
                instance.shared.metrics.pipes.stderr_bytes.add(count as u64);
                tail.push(&scratch[..count]);
                log_lines(&instance, &mut line, &scratch[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        tokio::task::consume_budget().await;
    }
    if !line.is_empty() {
        log_lines(&instance, &mut line, b"\n");
    }
}

fn log_lines(instance: &Instance, line: &mut Vec<u8>, bytes: &[u8]) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    for part in bytes.split_inclusive(|byte| *byte == b'\n') {
        let room = LOGGED_BYTES.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        if part.ends_with(b"\n") {
            let text = String::from_utf8_lossy(line);
            let text = escape_controls(text.trim_end());
            tracing::debug!(server_id = %instance.id, agent = %instance.agent, "stderr: {text}");
            line.clear();
        }
    }
}

/// Escapes control characters, so that an agent cannot send commands to the terminal in which the log is
/// read.
fn escape_controls(text: &str) -> Cow<'_, str> {
    let is_escaped = |character: char| character.is_control() && character != '\t';
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_4096_bytes_and_never_half_a_character() {
        let tail = Tail::default();
        tail.push(b"early ");
        tail.push("é".repeat(3000).as_bytes());
        assert_eq!(tail.text(), "é".repeat(2048));
        tail.push(b"x");
        let text = tail.text();
        assert!(text.ends_with("éx") && !text.contains('\u{fffd}'), "{}", &text[..8]);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escape_controls("plain é\ttext"), "plain é\ttext");
        assert_eq!(escape_controls("a\rb\x1b[2Jc\u{9b}d\0"), r"a\rb\u{1b}[2Jc\u{9b}d\u{0}");
    }
}

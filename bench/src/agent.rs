//! The agent behind every measured side: it does as little work as a JSON-RPC agent can.
//!
//! It answers every request, with an empty result unless the method requests more. A method is a word and, for
//! some, a number after a colon: `burst:1000` writes a thousand events and then answers.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Result;

/// One event of the stream, as long as a typical text chunk. The `@`s are replaced by a sequence number.
const EVENT: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"words words words words and more @@@@@@@@@@"}}}}"#;
/// How long the agent takes to start, in milliseconds.
pub(crate) const DELAY: &str = "BENCH_AGENT_DELAY_MS";
/// How long `think` takes.
pub(crate) const THINKING: Duration = Duration::from_millis(10);

/// Starts the agent as a separate process, with both its pipes.
pub(crate) fn start() -> Result<(Child, ChildStdin, ChildStdout)> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut agent = command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (stdin, stdout) = (agent.stdin.take().ok_or("no stdin")?, agent.stdout.take().ok_or("no stdout")?);
    Ok((agent, stdin, stdout))
}

/// A request to the agent.
pub(crate) fn request(id: u64, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)
}

/// The current time in nanoseconds, comparable between processes on this machine.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The number after a field's name.
pub(crate) fn number_after(bytes: &[u8], field: &str) -> Option<u64> {
    let start = memchr::memmem::find(bytes, field.as_bytes())? + field.len();
    let digits =
        &bytes[start..start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count()];
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Runs the agent on this process's own pipes.
pub(crate) fn run() -> Result<()> {
    if let Some(delay) = std::env::var(DELAY).ok().and_then(|text| text.parse().ok()) {
        std::thread::sleep(Duration::from_millis(delay));
    }
    let mut input = BufReader::with_capacity(256 << 10, std::io::stdin().lock());
    let mut output = BufWriter::with_capacity(256 << 10, std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        answer(&line, &mut output)?;
        // All requests waiting in the pipe are answered together.
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
}

fn answer(line: &[u8], output: &mut impl Write) -> Result<()> {
    // The envelope comes first; the content of a large message after it is not searched.
    let head = &line[..line.len().min(200)];
    let Some(id) = number_after(head, r#""id":"#) else { return Ok(()) };
    let method = word_after(head, br#""method":""#);
    let (word, number) = method.split_once(':').unwrap_or((method, "0"));
    let number: u64 = number.parse()?;
    match word {
        "stream" => {
            let count = stream(output, Duration::from_millis(number))?;
            writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"count":{count}}}}}"#)?;
        }
        "burst" => {
            let mut event = Event::new();
            for count in 0..number {
                output.write_all(event.numbered(count))?;
            }
            writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"count":{number}}}}}"#)?;
        }
        "paced" => {
            for _ in 0..number {
                std::thread::sleep(Duration::from_millis(1));
                stamp(output)?;
                output.flush()?;
            }
            writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"count":{number}}}}}"#)?;
        }
        "think" => {
            std::thread::sleep(THINKING);
            stamp(output)?;
            output.flush()?;
            writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)?;
        }
        "large" => {
            let text = "x".repeat(1_000_000);
            for _ in 0..number {
                writeln!(output, r#"{{"jsonrpc":"2.0","method":"large","params":{{"text":"{text}"}}}}"#)?;
            }
            writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"count":{number}}}}}"#)?;
        }
        "mirror" => {
            write!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":"#)?;
            let start = memchr::memmem::find(head, br#""params":"#).map_or(line.len(), |at| at + 9);
            output.write_all(&line[start..])?;
        }
        _ => {
            write!(output, r#"{{"jsonrpc":"2.0","id":"#)?;
            write!(output, "{id}")?;
            output.write_all(b",\"result\":{}}\n")?;
        }
    }
    Ok(())
}

fn word_after<'a>(bytes: &'a [u8], before: &[u8]) -> &'a str {
    let Some(at) = memchr::memmem::find(bytes, before) else { return "" };
    let rest = &bytes[at + before.len()..];
    let end = memchr::memchr(b'"', rest).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).unwrap_or_default()
}

fn stamp(output: &mut impl Write) -> Result<()> {
    let now = now_ns();
    writeln!(output, r#"{{"jsonrpc":"2.0","method":"stamp","params":{{"at":{now}}}}}"#)?;
    Ok(())
}

fn stream(output: &mut impl Write, duration: Duration) -> Result<u64> {
    let until = Instant::now() + duration;
    let (mut event, mut count) = (Event::new(), 0);
    while Instant::now() < until {
        for _ in 0..256 {
            output.write_all(event.numbered(count))?;
            count += 1;
        }
    }
    Ok(count)
}

/// The event with a placeholder for its number.
struct Event {
    line: Vec<u8>,
    at: usize,
}

impl Event {
    fn new() -> Self {
        let line = format!("{EVENT}\n").into_bytes();
        let at = memchr::memmem::find(&line, b"@@@@@@@@@@").unwrap_or(0);
        Self { line, at }
    }

    fn numbered(&mut self, number: u64) -> &[u8] {
        let mut rest = number;
        for digit in self.line[self.at..self.at + 10].iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        &self.line
    }
}

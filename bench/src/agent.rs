//! The agent that is put behind every side: as little work as a JSON-RPC agent can do.
//!
//! It answers every request with an empty result. A request whose method is `stream` makes it write events of
//! 200 bytes for as many milliseconds as its id's thousands say, before it answers.

use std::io::{BufRead, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// One event of the stream, as long as a typical text chunk. `@` is replaced by a running number.
pub(crate) const EVENT: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"words words words words @@@@@@@@@@"}}}}"#;

/// Starts the agent as a process of its own, with both its pipes.
pub(crate) fn start() -> Result<(Child, ChildStdin, ChildStdout)> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut agent = command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (stdin, stdout) = (agent.stdin.take().ok_or("no stdin")?, agent.stdout.take().ok_or("no stdout")?);
    Ok((agent, stdin, stdout))
}

/// Is the agent, on this process's own pipes.
pub(crate) fn run() -> Result<()> {
    let stdin = std::io::stdin().lock();
    let mut input = std::io::BufReader::with_capacity(256 << 10, stdin);
    let mut output = BufWriter::with_capacity(256 << 10, std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(id) = id_of(&line) {
            if memchr::memmem::find(&line, br#""stream""#).is_some() {
                let milliseconds =
                    std::str::from_utf8(id).ok().and_then(|id| id.parse::<u64>().ok()).unwrap_or(0) / 1000;
                let count = stream(&mut output, Duration::from_millis(milliseconds))?;
                write!(output, r#"{{"jsonrpc":"2.0","id":"#)?;
                output.write_all(id)?;
                writeln!(output, r#","result":{{"count":{count}}}}}"#)?;
            } else {
                output.write_all(br#"{"jsonrpc":"2.0","id":"#)?;
                output.write_all(id)?;
                output.write_all(b",\"result\":{}}\n")?;
            }
        }
        // What waits in the pipe is answered together.
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
}

fn id_of(line: &[u8]) -> Option<&[u8]> {
    let start = memchr::memmem::find(line, br#""id":"#)? + 5;
    let end = start + line[start..].iter().position(|byte| !byte.is_ascii_digit())?;
    Some(&line[start..end])
}

fn stream(output: &mut impl Write, duration: Duration) -> Result<u64> {
    let until = Instant::now() + duration;
    let mut event = format!("{EVENT}\n").into_bytes();
    let at = memchr::memmem::find(&event, b"@@@@@@@@@@").unwrap_or(0);
    let mut count = 0;
    while Instant::now() < until {
        for _ in 0..256 {
            event[at..at + 10].copy_from_slice(format!("{count:010}").as_bytes());
            output.write_all(&event)?;
            count += 1;
        }
    }
    Ok(count)
}

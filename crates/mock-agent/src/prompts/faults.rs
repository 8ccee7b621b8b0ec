//! Faults: crashes, noise on stdout, floods on stderr, refusals, errors.

use std::io::Write;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::StopReason;
use serde_json::json;

use super::{number, required_number, text};
use crate::extension::{ExitNow, WriteRaw};
use crate::turn::{DONE, Ending, Outcome, Stop, Turn};

/// The largest exit code a process can have.
const MAX_EXIT_CODE: u64 = 255;
const MAX_STDERR: u64 = 1024 * 1024 * 1024;

fn exit_code(code: u64) -> i32 {
    // The number was checked against `MAX_EXIT_CODE` when it was parsed.
    i32::try_from(code).unwrap_or(1)
}

/// `crash [CODE]`
pub(super) async fn crash(turn: &Turn, rest: &str) -> Outcome {
    let code = exit_code(number(rest, 0, MAX_EXIT_CODE)?.unwrap_or(1));
    turn.say("I am about to crash.").await?;
    turn.client
        .notify(ExitNow { code, stderr_message: format!("mock-agent: crashing with code {code}\n") })?;
    // The transport ends the process; this prompt is never answered.
    std::future::pending().await
}

/// `exit CODE`
pub(super) async fn exit(turn: &Turn, rest: &str) -> Outcome {
    let code = exit_code(required_number(rest, 0, MAX_EXIT_CODE)?);
    turn.say(format!("I answer this prompt and then exit with code {code}.")).await?;
    Ok(Ending::Exit(code))
}

/// `noise`
pub(super) async fn noise(turn: &Turn, _: &str) -> Outcome {
    let raw = |bytes: &[u8]| turn.client.notify(WriteRaw { bytes: bytes.to_vec() });
    raw(b"Loading configuration...\n")?;
    raw(b"{\"level\":\"info\"}\n")?;
    turn.say("There is noise ").await?;
    raw(b"invalid UTF-8: \xff\xfe\xc3(\n")?;
    raw(b"\n")?;
    raw(b"half a character: \xf0\x9f\n")?;
    turn.say("around this answer.").await?;
    raw(b"[\"not\",\"a\",\"message\"]\r\n")?;
    raw(b"warning: this line is not JSON\n")?;
    Ok(DONE)
}

/// `stderr N`
pub(super) async fn stderr(turn: &Turn, rest: &str) -> Outcome {
    let bytes = required_number(rest, 0, MAX_STDERR)?;
    let write = tokio::task::spawn_blocking(move || {
        let mut stderr = std::io::stderr().lock();
        let mut line = text::filler("stderr ", 79);
        line.push('\n');
        let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
        while left > 0 {
            let part = &line.as_bytes()[..left.min(line.len())];
            stderr.write_all(part)?;
            left -= part.len();
        }
        stderr.flush()
    });
    match turn.until_cancelled(write).await? {
        Ok(Ok(())) => turn.say(format!("Wrote {bytes} bytes to stderr.")).await?,
        Ok(Err(error)) => return Err(Stop::Say(format!("stderr cannot be written: {error}"))),
        Err(error) => return Err(Stop::Fail(Error::into_internal_error(error))),
    }
    Ok(DONE)
}

/// `refuse`
pub(super) async fn refuse(turn: &Turn, _: &str) -> Outcome {
    turn.say("I will not do that.").await?;
    Ok(Ending::Stop(StopReason::Refusal))
}

/// `max`
pub(super) async fn max(turn: &Turn, _: &str) -> Outcome {
    turn.say("This answer stops in the middle of a").await?;
    Ok(Ending::Stop(StopReason::MaxTokens))
}

/// `error`
pub(super) async fn error(_: &Turn, _: &str) -> Outcome {
    Err(Stop::Fail(
        Error::new(-32603, "The mock agent was asked to fail")
            .data(json!({"prompt": "error", "retry": false})),
    ))
}

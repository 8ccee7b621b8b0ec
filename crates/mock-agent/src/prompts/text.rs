//! Answers that consist of text only.

use super::{PROMPT_COMMANDS, number, required_number};
use crate::turn::{DONE, Outcome, Turn};

/// The maximum number of chunks in one `stream`.
const MAX_CHUNKS: u64 = 10_000_000;
/// The maximum size of a chunk of `stream` and `big`.
const MAX_CHUNK: u64 = 512 * 1024 * 1024;
/// The default size of a `stream` chunk.
const DEFAULT_CHUNK: u64 = 32;

/// `help`
pub(super) async fn help(turn: &Turn, _: &str) -> Outcome {
    turn.say("I am the mock agent. The first word of a prompt says what I do, with or without a slash:\n\n")
        .await?;
    for command in PROMPT_COMMANDS {
        turn.say(format!("- `{}`: {}\n", command.usage(), command.description)).await?;
    }
    turn.say("\nAnything else I quote back to you.\n").await?;
    Ok(DONE)
}

/// `echo TEXT`
pub(super) async fn echo(turn: &Turn, rest: &str) -> Outcome {
    turn.say(rest).await?;
    Ok(DONE)
}

/// Any prompt that is not a command.
pub(super) async fn quote(turn: &Turn, text: &str) -> Outcome {
    for chunk in
        ["This is the mock agent. ", "You said: ", "\"", text, "\". ", "Say help to see what I can do."]
    {
        turn.say(chunk).await?;
    }
    Ok(DONE)
}

/// `stream N [BYTES]`
pub(super) async fn stream(turn: &Turn, rest: &str) -> Outcome {
    let chunks = required_number(rest, 0, MAX_CHUNKS)?;
    let bytes = number(rest, 1, MAX_CHUNK)?.unwrap_or(DEFAULT_CHUNK);
    for index in 1..=chunks {
        turn.say(filler(&format!("chunk {index} "), bytes)).await?;
    }
    Ok(DONE)
}

/// `big BYTES`
pub(super) async fn big(turn: &Turn, rest: &str) -> Outcome {
    let bytes = required_number(rest, 0, MAX_CHUNK)?;
    turn.say(filler("big ", bytes)).await?;
    Ok(DONE)
}

/// `start` followed by letters, exactly `bytes` long.
pub(super) fn filler(start: &str, bytes: u64) -> String {
    // The limits above are far below the point of overflow on any supported machine.
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    start.bytes().chain((b'a'..=b'z').cycle()).take(bytes).map(char::from).collect()
}

/// `markdown`
pub(super) async fn markdown(turn: &Turn, _: &str) -> Outcome {
    for chunk in [
        "# A heading\n\nSome *emphasis*, some **weight**, some `code`.\n\n",
        "## A list\n\n- one\n- two\n  - two and a half\n\n1. first\n2. second\n\n",
        "## Code\n\n```rust\nfn main() {\n    println!(\"hello\");\n}\n```\n\n",
        "## A table\n\n| left | right |\n|:-----|------:|\n| a    |     1 |\n| b    |     2 |\n\n",
        "> A quotation.\n\nA [link](https://agentclientprotocol.com/).\n",
    ] {
        turn.say(chunk).await?;
    }
    Ok(DONE)
}

/// `think`
pub(super) async fn think(turn: &Turn, _: &str) -> Outcome {
    for chunk in ["The user wants me to think. ", "I have thought about it. ", "That was enough."] {
        turn.think(chunk).await?;
    }
    turn.say("I have thought about it.").await?;
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filler_has_exactly_the_requested_length() {
        assert_eq!(filler("chunk 1 ", 10), "chunk 1 ab");
        assert_eq!(filler("chunk 1 ", 3), "chu");
        assert_eq!(filler("", 30).len(), 30);
    }
}

//! Answers made of text alone.

use super::ABILITIES;
use crate::turn::{DONE, Outcome, Turn};

/// `help`
pub(super) async fn help(turn: &Turn, _: &str) -> Outcome {
    turn.say("I am the mock agent. The first word of a prompt says what I do, with or without a slash:\n\n")
        .await?;
    for ability in ABILITIES {
        let usage = format!("{} {}", ability.name, ability.arguments);
        turn.say(format!("- `{}`: {}\n", usage.trim(), ability.does)).await?;
    }
    turn.say("\nAnything else I quote back to you.\n").await?;
    Ok(DONE)
}

/// `echo TEXT`
pub(super) async fn echo(turn: &Turn, rest: &str) -> Outcome {
    turn.say(rest).await?;
    Ok(DONE)
}

/// Any other prompt.
pub(super) async fn quote(turn: &Turn, text: &str) -> Outcome {
    for chunk in
        ["This is the mock agent. ", "You said: ", "\"", text, "\". ", "Say help to see what I can do."]
    {
        turn.say(chunk).await?;
    }
    Ok(DONE)
}

//! Slow turns, which run until they are done or cancelled.

use std::time::Duration;

use crate::turn::{DONE, Outcome, Stop, Turn};

const TICK: Duration = Duration::from_millis(100);
const TICKS_PER_SECOND: f64 = 10.0;
/// One day; use `forever` for longer turns.
const MAX_SECONDS: f64 = 86_400.0;
const DEFAULT_SECONDS: f64 = 5.0;

/// `slow [SECONDS]`
pub(super) async fn slow(turn: &Turn, rest: &str) -> Outcome {
    let seconds = match rest.split_whitespace().next() {
        None => DEFAULT_SECONDS,
        Some(word) => match word.parse() {
            Ok(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => seconds,
            _ => {
                return Err(Stop::Say(format!("{word} is not a number of seconds from 0 to {MAX_SECONDS}.")));
            }
        },
    };
    // The range was checked above: at most 864,000 ticks.
    let ticks = (seconds * TICKS_PER_SECOND).ceil() as u64;
    for tick in 1..=ticks {
        turn.until_cancelled(tokio::time::sleep(TICK)).await?;
        turn.say(format!("tick {tick} of {ticks}\n")).await?;
    }
    turn.say("Done, slowly.").await?;
    Ok(DONE)
}

/// `forever`
pub(super) async fn forever(turn: &Turn, _: &str) -> Outcome {
    for tick in 1_u64.. {
        turn.say(format!("tick {tick}\n")).await?;
        turn.until_cancelled(tokio::time::sleep(TICK)).await?;
    }
    Ok(DONE)
}

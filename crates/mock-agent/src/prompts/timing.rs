//! Turns that take their time, until they are done or cancelled.

use std::time::Duration;

use crate::turn::{DONE, Outcome, Stop, Turn};

const TICK: Duration = Duration::from_millis(100);
const TICKS_A_SECOND: f64 = 10.0;
/// A day: longer is what `forever` is for.
const MOST_SECONDS: f64 = 86_400.0;
const USUAL_SECONDS: f64 = 5.0;

/// `slow [SECONDS]`
pub(super) async fn slow(turn: &Turn, rest: &str) -> Outcome {
    let seconds = match rest.split_whitespace().next() {
        None => USUAL_SECONDS,
        Some(word) => match word.parse() {
            Ok(seconds) if (0.0..=MOST_SECONDS).contains(&seconds) => seconds,
            _ => {
                return Err(Stop::Say(format!(
                    "{word} is not a number of seconds from 0 to {MOST_SECONDS}."
                )));
            }
        },
    };
    // In range, checked above: at most 864,000 ticks.
    let ticks = (seconds * TICKS_A_SECOND).ceil() as u64;
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

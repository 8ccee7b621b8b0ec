//! Random operations of clients and agents against the built binary, in rounds, with checks after each round.
//!
//! Every run prints its seed; `CHAOS_SEED` repeats the choices of a run, though not the order in which threads get to
//! make them. `CHAOS_ROUNDS` sets the number of rounds, `SOAK_MINUTES` a time instead; `make soak` sets the latter.
//!
//! - [`operations`]: the operations of a round.
//! - [`round`]: the data that the operations of a round share, and the rules for every answer.
//! - [`order`]: the order in which a reader may receive events.
//! - [`checks`]: memory, processes and descriptors after a round.
//! - [`run`]: the rounds, and the ends of servers.
//! - [`arena`]: the server that the rounds use.
//! - [`http2`]: frames that break the protocol.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]
#![allow(clippy::needless_pass_by_value, reason = "`json!({...})` is easiest to read inline")]

mod arena;
mod checks;
mod events;
mod http2;
mod operations;
mod order;
mod random;
mod round;
mod run;
mod tasks;
mod wire;

use std::time::{Duration, Instant};

use arena::Arena;
use random::Random;
use run::{Limit, run};
use serde_json::json;
use test_harness::rpc::call;

/// The rounds of `make test`.
const ROUNDS: u64 = 20;
/// How many frames an attack sends.
const FRAMES: u32 = 5000;

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not `{text}`")))
}

/// The seed of an ordinary run: whether a change passes must not depend on luck. A soak makes new choices every time.
const USUAL_SEED: u64 = 20;

fn seed() -> u64 {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let usual = if variable("SOAK_MINUTES").is_some() { u64::from(now) } else { USUAL_SEED };
    let seed = variable("CHAOS_SEED").unwrap_or(usual);
    eprintln!("CHAOS_SEED={seed} repeats these choices");
    seed
}

/// Waits until something is true.
#[track_caller]
fn eventually(what: &str, mut look: impl FnMut() -> bool) {
    test_harness::eventually(what, || look().then_some(()));
}

#[test]
fn rounds_of_random_operations_leave_nothing_behind() {
    let limit = match variable("SOAK_MINUTES") {
        Some(minutes) => Limit::Until(Instant::now() + Duration::from_secs(60 * minutes)),
        None => Limit::Rounds(variable("CHAOS_ROUNDS").unwrap_or(ROUNDS)),
    };
    let figures = run(seed(), limit);
    eprintln!("{figures}");
}

#[test]
fn streams_of_http_2_that_are_not_read_use_memory_of_the_account() {
    const CONNECTIONS: u32 = 12;
    let arena = Arena::start();
    let round = arena.round();
    run::open_calm(&round);
    let path = "/v1/acp/calm-1?replay=none";
    for _ in 0..CONNECTIONS {
        round.hold(http2::unread(round.port, path).expect("the server answers the requests"));
    }
    let params = json!({"method": "unread", "count": 2000, "bytes": 1000});
    let emit = operations::messages::post("calm-1", call("unread", "emit", params));
    round.ask(&emit, &[200], &[]);
    run::check_memory("with streams that are not read", &round);
    arena.check_peak("with streams that are not read");
    arena.finish(&round, "after streams that were not read");
}

#[test]
fn frames_of_http_2_that_break_the_protocol_cost_little_and_end() {
    let mut random = Random::new(seed());
    let arena = Arena::start();
    let round = arena.round();
    run::open_calm(&round);
    for attack in http2::attacks::ATTACKS {
        let frames = (attack.make)(&mut random, FRAMES);
        match http2::attack(round.port, &frames, attack.well_framed) {
            Ok(ending) => eprintln!("{}: {ending:?}", attack.name),
            Err(failure) => round.violated(format!("{}: {failure}", attack.name)),
        }
        arena.check_peak(attack.name);
        let health = wire::Ask::new("GET", "/v1/health");
        round.ask(&health, &[200], &[]);
        round.assert_no_violation(attack.name);
    }
    arena.finish(&round, "after frames of HTTP/2");
}

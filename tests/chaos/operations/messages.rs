//! Messages to agents, and their outcomes.

use std::io::Result;
use std::sync::Arc;

use serde_json::{Value, json};
use test_harness::rpc::{call, notification, response};

use crate::events::{EventStream, Opened};
use crate::random::Random;
use crate::round::{Accepted, CALM, CALM_CODES, ROUGH, ROUGH_CODES, Round};
use crate::wire::Ask;

const MEBIBYTE: u64 = 1 << 20;

pub(crate) fn post(server_id: &str, message: impl Into<Vec<u8>>) -> Ask {
    Ask::new("POST", format!("/v1/acp/{server_id}")).json(message)
}

/// A stream of one instance.
pub(super) fn stream(server_id: &str) -> Ask {
    Ask::new("GET", format!("/v1/acp/{server_id}")).header("Accept", "text/event-stream")
}

/// One of the calm instances that obey the fault agent's commands.
fn calm(random: &mut Random) -> &'static str {
    CALM[random.size(0..2)]
}

/// A request that a healthy agent answers.
fn answered_request(round: &Round, random: &mut Random) -> (String, String) {
    let id = format!("r-{}", round.fresh());
    let body = match random.number(0..5) {
        0 => call(id.as_str(), "slow", json!({"ms": random.number(0..150)})),
        1 => call(id.as_str(), "emit", burst(round, random.number(1..400), random.number(0..800))),
        2 => call(id.as_str(), "emit", burst(round, 1, random.number(1..3 * MEBIBYTE))),
        _ => call(id.as_str(), "echo", json!("e".repeat(random.size(0..20_000)))),
    };
    (id, body)
}

/// The parameters of a burst. Its lines contain a number that no other burst has.
fn burst(round: &Round, count: u64, bytes: u64) -> Value {
    json!({"method": format!("burst-{}", round.fresh()), "count": count, "bytes": bytes})
}

/// Requests whose client waits. On a calm instance they succeed; on any other they end.
pub(super) fn waiting(round: &Arc<Round>, random: &mut Random) {
    let (id, body) = answered_request(round, random);
    let is_calm = random.one_in(2);
    let server_id = if is_calm { calm(random) } else { *random.pick(&ROUGH) };
    let codes = if is_calm { CALM_CODES } else { ROUGH_CODES };
    round.note(format!("post {id} to {server_id} and wait"));
    let name = format!("post {id} to {server_id}");
    let task = Arc::clone(round);
    let tasks = if is_calm { &round.calm_tasks } else { &round.tasks };
    tasks.start(round.fresh(), name, move || {
        if let Some(answer) = task.ask(&post(server_id, body), &[200], codes)
            && answer.json().is_none_or(|json| json["id"] != id)
        {
            task.violated(format!("the answer to {id} is {}", answer.text()));
        }
    });
}

/// Requests to calm instances without a waiting client. Each must have an answer at the end of the round.
pub(super) fn without_waiting(round: &Arc<Round>, random: &mut Random) {
    let (id, body) = answered_request(round, random);
    let server_id = calm(random);
    round.note(format!("post {id} to {server_id} without waiting"));
    let ask = post(server_id, body.as_str()).header("Idempotency-Key", id.as_str());
    if round.ask(&ask.header("Prefer", "respond-async"), &[202], CALM_CODES).is_some() {
        round.accepted.lock().unwrap().push(Accepted { server_id, id, body });
    }
}

/// The same message several times at once: all get one outcome, and the key does not fit another message.
pub(super) fn repeated(round: &Arc<Round>, random: &mut Random) {
    let (id, body) = answered_request(round, random);
    let server_id = calm(random);
    round.note(format!("post {id} to {server_id} three times"));
    let ask = post(server_id, body).header("Idempotency-Key", id.as_str());
    let racers: Vec<_> = (0..3)
        .map(|_| {
            let (round, ask) = (Arc::clone(round), ask.clone());
            std::thread::spawn(move || {
                round
                    .ask(&ask, &[200], &["memory_budget_exhausted", "outcome_gone"])
                    .map(|answer| answer.body)
            })
        })
        .collect();
    let answers: Vec<_> = racers.into_iter().filter_map(|racer| racer.join().unwrap()).collect();
    if answers.windows(2).any(|pair| pair[0] != pair[1]) {
        round.violated(format!("repeats of {id} have different answers"));
    }
    if !answers.is_empty() {
        let other = call(format!("{id}-other"), "echo", json!(1));
        let ask = post(server_id, other).header("Idempotency-Key", id.as_str());
        round.ask(&ask, &[], &["idempotency_key_reused", "memory_budget_exhausted"]);
    }
}

/// A request that nobody waits for, to any instance, by a client that reads the stream: it receives the answer,
/// `failed` or a gap before the stream ends.
pub(super) fn watched(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&ROUGH);
    let (id, body) = match random.one_in(3) {
        true => {
            let id = format!("r-{}", round.fresh());
            (id.clone(), call(id, "never", json!({})))
        }
        false => answered_request(round, random),
    };
    round.note(format!("post {id} to {server_id} and follow the stream"));
    let task = Arc::clone(round);
    round.tasks.start(round.fresh(), format!("follow {id} on {server_id}"), move || {
        let what = format!("the stream of {server_id} with {id}");
        if let Err(error) = watch(&task, server_id, &id, &body) {
            task.failed(&what, &error);
        }
    });
}

fn watch(round: &Round, server_id: &'static str, id: &str, body: &str) -> Result<()> {
    let changes = round.changes(server_id);
    let ask = stream(server_id);
    let mut events =
        match EventStream::open(&Ask { target: format!("{}?replay=none", ask.target), ..ask }, round.port)? {
            Opened::Stream(events) => events,
            Opened::Refused(answer) => {
                round.check("a stream", answer, &[204], &["unknown_server", "instance_closing"]);
                return Ok(());
            }
        };
    let ask = post(server_id, body).header("Prefer", "respond-async");
    if round.ask(&ask, &[202], ROUGH_CODES).is_none() {
        return Ok(());
    }
    // Otherwise the request may have reached another process than the one whose stream this is.
    let must_end_here = round.changes(server_id) == changes;
    let shown = json!(id);
    while let Some(event) = events.next()? {
        if event.name == "gap" {
            return Ok(());
        }
        let is_end = match event.name.as_str() {
            "failed" => true,
            "message" => !event.data.starts_with(br#"{"jsonrpc":"2.0","method":"#),
            _ => false,
        };
        if is_end && serde_json::from_slice::<Value>(&event.data).is_ok_and(|json| json["id"] == shown) {
            return Ok(());
        }
    }
    if must_end_here && !round.is_stopping() {
        round
            .violated(format!("{id} was accepted by {server_id}, and its stream ended without an end of it"));
    }
    Ok(())
}

/// An agent asks, and several clients answer: the first answer wins.
pub(super) fn answers(round: &Arc<Round>, random: &mut Random) {
    let server_id = calm(random);
    let (prefix, count) = (format!("q-{}", round.fresh()), random.number(1..60));
    round.note(format!("{count} requests of {server_id}"));
    let params = json!({"prefix": prefix, "count": count, "bytes": random.number(0..3000)});
    let ask = call(format!("r-{}", round.fresh()), "ask_many", params);
    if round.ask(&post(server_id, ask), &[200], CALM_CODES).is_none() {
        return;
    }
    for index in 0..random.number(0..count + 1).min(8) {
        let answer = post(server_id, response(format!("{prefix}-{index}"), json!({})));
        let racers = [0; 2].map(|_| {
            let (round, answer) = (Arc::clone(round), answer.clone());
            std::thread::spawn(move || {
                let codes = ["already_answered", "memory_budget_exhausted"];
                round.ask(&answer, &[202], &codes).map(|answer| answer.status())
            })
        });
        let statuses = racers.map(|racer| racer.join().unwrap());
        if statuses == [Some(202), Some(202)] {
            round.violated(format!("two answers to {prefix}-{index} of {server_id} were accepted"));
        }
    }
}

/// Commands that break an agent, or make it break something.
pub(super) fn misbehaviour(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&ROUGH);
    let (name, params) = match random.number(0..14) {
        0 | 1 => ("emit", burst(round, random.number(100..5000), random.number(0..600))),
        2 | 3 => ("emit", burst(round, random.number(1..8), random.number(0..9 * MEBIBYTE))),
        4 | 5 => ("unfinished", json!({"bytes": random.number(1..6 * MEBIBYTE)})),
        6 => ("ask_many", {
            let prefix = format!("q-{}", round.fresh());
            json!({"prefix": prefix, "count": random.number(10..400), "bytes": random.number(0..20_000)})
        }),
        7 => (
            "raw",
            json!({"text": random.pick(&["\n\n\n", "{}\n[1]\nnull\n", "{\"jsonrpc\":\"2.0\"}\n", "\u{0}\n"])}),
        ),
        8 => ("stall", json!({"ms": random.number(0..3000)})),
        9 => ("stderr", json!({"bytes": random.number(0..2 * MEBIBYTE)})),
        10 => ("exit", json!({"code": random.number(0..3)})),
        11 => ("exit_after_answer", json!({"code": 0})),
        12 => ("close_stdout", json!({})),
        _ => ("close_stdin", json!({})),
    };
    round.note(format!("{name} {params} on {server_id}"));
    round.change(server_id);
    if random.one_in(2) {
        // Sent as a notification: no client waits, and the agent does not answer.
        round.ask(&post(server_id, notification(name, params)), &[202], ROUGH_CODES);
        return;
    }
    let body = call(format!("r-{}", round.fresh()), name, params);
    let task = Arc::clone(round);
    round.tasks.start(round.fresh(), format!("{name} on {server_id}"), move || {
        task.ask(&post(server_id, body), &[200], ROUGH_CODES);
    });
}

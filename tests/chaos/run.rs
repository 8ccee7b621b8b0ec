//! Runs the rounds, with checks after each round. A round may end the server; the next round then uses a new one.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::arena::Arena;
use crate::checks::{self, Measured, settled};
use crate::operations::{self, instances, messages};
use crate::random::Random;
use crate::round::{CALM, Round};
use crate::wire::{Ask, PATIENCE};

/// How many clients work at the same time.
const WORKERS: usize = 6;
/// How many operations each client executes in a round.
const OPERATIONS: u64 = 14;

/// How many instances are started at the beginning of a round, beside the well-behaved ones.
const STARTED: u64 = 5;

/// When a run ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    Rounds(u64),
    Until(Instant),
}

/// How the server of a round ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stays,
    Terminated,
    Killed,
}

/// The statistics of a run.
#[derive(Debug)]
pub(crate) struct Figures {
    seed: u64,
    started: Instant,
    rounds: u64,
    operations: u64,
    events: u64,
    terminated: u64,
    killed: u64,
    peak_account: u64,
    peak_resident: u64,
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: u64| bytes >> 20;
        write!(
            formatter,
            "{} rounds in {} min (seed {}): {} operations, {} events received; servers ended by SIGTERM: {}, by \
             SIGKILL: {}; largest account seen: {} MiB, largest resident memory: {} MiB; processes that survived: 0",
            self.rounds,
            self.started.elapsed().as_secs() / 60,
            self.seed,
            self.operations,
            self.events,
            self.terminated,
            self.killed,
            mebibytes(self.peak_account),
            mebibytes(self.peak_resident),
        )
    }
}

/// Runs rounds until the limit.
pub(crate) fn run(seed: u64, limit: Limit) -> Figures {
    let mut random = Random::new(seed);
    let mut arena = Arena::start();
    let mut figures = Figures {
        seed,
        started: Instant::now(),
        rounds: 0,
        operations: 0,
        events: 0,
        terminated: 0,
        killed: 0,
        peak_account: 0,
        peak_resident: 0,
    };
    while match limit {
        Limit::Rounds(count) => figures.rounds < count,
        Limit::Until(end) => Instant::now() < end,
    } {
        let end = random.weighted(&[(4, End::Stays), (1, End::Terminated), (1, End::Killed)]);
        let title = format!("round {} of seed {seed}, the server {end:?}", figures.rounds);
        let round = arena.round();
        open_calm(&round);
        (0..STARTED).for_each(|_| instances::open(&round, &mut random));
        work(&round, &mut random, end, &mut figures);
        if end == End::Stays {
            figures.peak_resident = figures.peak_resident.max(arena.check_peak(&title));
            check_memory(&title, &round);
            round.wait_for(&round.calm_tasks);
            settle_accepted(&round);
            arena.finish(&round, &title);
        } else {
            arena = finish_ended(arena, &round, end, &title);
        }
        figures.rounds += 1;
        figures.operations += round.operations.load(Ordering::Relaxed);
        figures.events += round.events.load(Ordering::Relaxed);
        figures.terminated += u64::from(end == End::Terminated);
        figures.killed += u64::from(end == End::Killed);
        if figures.rounds.is_multiple_of(50) {
            eprintln!("{figures}");
        }
    }
    figures
}

/// The well-behaved instances of a round.
pub(crate) fn open_calm(round: &Arc<Round>) {
    for (server_id, agent) in CALM.into_iter().zip(instances::CALM_AGENTS) {
        let ask = messages::post(server_id, instances::hello(&format!("hello-{}", round.fresh())));
        round.ask(&Ask { target: format!("{}?agent={agent}", ask.target), ..ask }, &[200], &[]);
    }
    round.assert_no_violation("at the start of a round");
}

/// All operations of a round. If the server is to end, that happens in the middle of them.
fn work(round: &Arc<Round>, random: &mut Random, end: End, figures: &mut Figures) {
    let last = random.number(OPERATIONS / 3..OPERATIONS);
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (round, mut random) = (Arc::clone(round), random.fork());
            std::thread::spawn(move || {
                for index in 0..OPERATIONS {
                    if worker == 0 && index == last {
                        stop(&round, end);
                    }
                    if round.is_stopping() {
                        return;
                    }
                    operations::one(&round, &mut random);
                }
            })
        })
        .collect();
    for worker in workers {
        while !worker.is_finished() {
            let measured = Measured::read(round.port);
            figures.peak_account = figures.peak_account.max(measured.map_or(0, |measured| measured.used));
            std::thread::sleep(Duration::from_millis(20));
        }
        worker.join().unwrap();
    }
}

fn stop(round: &Round, end: End) {
    let signal = match end {
        End::Stays => return,
        End::Terminated => "TERM",
        End::Killed => "KILL",
    };
    round.note(format!("SIG{signal} to the server"));
    round.is_stopping.store(true, Ordering::SeqCst);
    round.server.signal(signal);
}

/// Checks, while instances run, that the server's memory use agrees with its metrics.
pub(crate) fn check_memory(title: &str, round: &Round) {
    settled(title, || match Measured::read(round.port) {
        Some(measured) => measured.explain(round.server),
        None => Err("the server does not answer".to_owned()),
    });
}

/// Every request that a calm instance accepted has its own answer, or one that is no longer held.
fn settle_accepted(round: &Round) {
    let accepted = std::mem::take(&mut *round.accepted.lock().unwrap());
    for request in accepted {
        let ask =
            messages::post(request.server_id, request.body).header("Idempotency-Key", request.id.as_str());
        let Some(answer) = round.ask(&ask, &[200], &["outcome_gone"]) else { continue };
        if answer.json().is_none_or(|json: Value| json["id"] != request.id) {
            round.violated(format!("the answer to {} is {}", request.id, answer.text()));
        }
    }
}

/// The server was sent a signal: it ends, everything that waits for it ends, and no process is left. A new server
/// finds the files of clients, and nothing else.
fn finish_ended(mut arena: Arena, round: &Arc<Round>, end: End, title: &str) -> Arena {
    let status = arena.server.wait_for_end(PATIENCE);
    let left = |folder: &Path| checks::processes_below(folder);
    if end == End::Terminated {
        assert_eq!(status.code(), Some(0), "{title}");
    }
    settled(title, || match left(&arena.folder()).as_slice() {
        [] => Ok(()),
        left => Err(format!("outlived the server: {}", checks::describe(left))),
    });
    round.cut_held();
    round.wait_for(&round.calm_tasks);
    round.wait_for(&round.tasks);
    round.assert_no_violation(title);
    let arena = arena.restart();
    arena.check_files(title);
    arena
}

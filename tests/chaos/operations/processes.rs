//! Processes that agents leave behind, and signals to agents and their supervisors.

use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::json;
use test_harness::Process;
use test_harness::rpc::{call, notification};

use super::messages::post;
use crate::random::Random;
use crate::round::{ROUGH, ROUGH_CODES, Round};
use crate::wire::Ask;

/// The process of an instance, if it runs.
pub(super) fn agent_of(round: &Round, server_id: &str) -> Option<Process> {
    let ask = Ask::new("GET", format!("/v1/acp?server={server_id}"));
    let list = round.ask(&ask, &[200], &[])?.json()?;
    let pid = u32::try_from(list["servers"][0]["pid"].as_u64()?).ok()?;
    // Only while it belongs to this server: the number may have passed to another process.
    round.server.descendants().into_iter().find(|process| process.pid == pid)
}

/// Daemons that leave their session, children that are never waited for, and chains of processes.
pub(super) fn forks(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&ROUGH);
    let (name, params) = match random.number(0..5) {
        0 => ("spawn_daemon", json!({})),
        1 => ("spawn_daemon", json!({"deaf": true, "keepsStdout": random.one_in(2)})),
        2 => ("spawn_child", json!({})),
        3 => ("spawn_child", json!({"short": true})),
        _ => ("spawn_chains", json!({"count": random.number(1..12), "seconds": random.number(1..6)})),
    };
    round.note(format!("{name} {params} on {server_id}"));
    round.change(server_id);
    if random.one_in(2) {
        round.ask(&post(server_id, notification(name, params)), &[202], ROUGH_CODES);
        return;
    }
    let body = call(format!("r-{}", round.fresh()), name, params);
    let task = Arc::clone(round);
    round.tasks.start(round.fresh(), format!("{name} on {server_id}"), move || {
        task.ask(&post(server_id, body), &[200], ROUGH_CODES);
    });
}

/// A signal to an agent, to its supervisor, or to something that the agent has started.
pub(super) fn signals(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&ROUGH);
    let signal =
        random.weighted(&[(4, Signal::KILL), (4, Signal::STOP), (1, Signal::TERM), (2, Signal::CONT)]);
    let target = random.number(0..5);
    round.change(server_id);
    let Some(agent) = agent_of(round, server_id) else { return };
    let Some(process) = (match target {
        0 | 1 => Some(agent),
        2 | 3 => agent.parent_if_there().filter(|parent| *parent != round.server),
        _ => agent.descendants().first().copied(),
    }) else {
        return;
    };
    let number = signal.as_raw();
    round.note(format!("signal {number} to process {} of {server_id}, agent {}", process.pid, agent.pid));
    send(round, process, signal);
}

/// Sends a signal, unless the number of the process has passed to another one.
fn send(round: &Round, process: Process, signal: Signal) {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The handle refers to the process that has the number now: is it still the one that was meant?
    if !process.is_gone() && round.server.descendants().contains(&process) {
        let _ = pidfd_send_signal(&handle, signal);
    }
}

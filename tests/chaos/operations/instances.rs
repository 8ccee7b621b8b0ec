//! Instances that are created, replaced and closed at any moment.

use std::sync::Arc;

use serde_json::json;
use test_harness::rpc::call;

use super::messages::post;
use crate::random::Random;
use crate::round::{CALM, ROUGH, ROUGH_CODES, Round};
use crate::wire::Ask;

/// The agents of the calm instances, in their order.
pub(crate) const CALM_AGENTS: [&str; 3] = ["fault", "fault", "mock"];
/// The agents of the others: see the flags of the fault agent.
const ROUGH_AGENTS: &[&str] =
    &["fault", "fault", "fault", "immortal", "deaf", "noisy", "slow", "dying", "mock"];

/// The first message to an agent.
pub(crate) fn hello(id: &str) -> String {
    let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}});
    call(id, "initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}))
}

/// Creates an instance, restarts one that has ended, or finds one that is there. A client may leave before the answer.
pub(crate) fn open(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&ROUGH);
    let agent = *random.pick(ROUGH_AGENTS);
    let id = format!("open-{}", round.fresh());
    let ask = post(server_id, hello(&id))
        .header("Prefer", if random.one_in(2) { "wait=2" } else { "respond-async" });
    let ask = Ask { target: format!("{}?agent={agent}", ask.target), ..ask };
    round.note(format!("open {server_id} with {agent}"));
    round.change(server_id);
    if random.one_in(4) {
        let _ = ask.write(round.port);
        return;
    }
    round.ask(&ask, &[200, 202], ROUGH_CODES);
}

/// Closes an instance: while it starts, floods, or is closed already. Afterwards its process is gone.
pub(super) fn close(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&ROUGH);
    round.note(format!("delete {server_id}"));
    round.change(server_id);
    let agent = super::processes::agent_of(round, server_id);
    let ask = Ask::new("DELETE", format!("/v1/acp/{server_id}"));
    if random.one_in(4) {
        let _ = ask.write(round.port);
        return;
    }
    let waits = random.one_in(2);
    let run = {
        let round = Arc::clone(round);
        move || {
            if round.ask(&ask, &[204], &["still_running"]).is_some()
                && let Some(agent) = agent
                && !agent.is_gone()
            {
                round.violated(format!("process {} of {server_id} has survived its DELETE", agent.pid));
            }
        }
    };
    if waits {
        run();
    } else {
        round.tasks.start(round.fresh(), format!("delete {server_id}"), run);
    }
}

/// A conversation with an agent that follows the protocol.
pub(super) fn conversation(round: &Arc<Round>, random: &mut Random) {
    const MOCK: usize = 2;
    let server_id = CALM[MOCK];
    round.note(format!("conversation on {server_id}"));
    let folder = round.folder.to_string_lossy().into_owned();
    let start =
        call(format!("new-{}", round.fresh()), "session/new", json!({"cwd": folder, "mcpServers": []}));
    let Some(answer) = round.ask(&post(server_id, start), &[200], crate::round::CALM_CODES) else { return };
    let Some(session) = answer.json().and_then(|json| Some(json["result"]["sessionId"].as_str()?.to_owned()))
    else {
        return round.violated(format!("no session: {}", answer.text()));
    };
    let prompt = *random.pick(&["echo hello", "stream 40 200", "think", "plan", "big 100000"]);
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": prompt}]});
    let message = call(format!("prompt-{}", round.fresh()), "session/prompt", params);
    if let Some(answer) = round.ask(&post(server_id, message), &[200], crate::round::CALM_CODES)
        && answer.json().is_none_or(|json| json["result"]["stopReason"] != "end_turn")
    {
        round.violated(format!("a prompt ended otherwise: {}", answer.text()));
    }
}

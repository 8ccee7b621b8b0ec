//! Configuration entries that several clients write at once.

use std::sync::Arc;

use serde_json::json;

use crate::random::Random;
use crate::round::Round;
use crate::wire::Ask;

/// Writes, reads, lists or removes entries. Every entry that is read must be one that was written, never a mixture.
pub(super) fn entries(round: &Arc<Round>, random: &mut Random) {
    let query = format!("directory=/d{}&mcpName=m{}", random.number(0..2), random.number(0..4));
    round.note(format!("configuration {query}"));
    let target = format!("/v1/config/mcp?{query}");
    match random.number(0..4) {
        0 | 1 => {
            let size = random.size(0..30_000);
            let entry = json!({"type": "local", "command": "x".repeat(size + 1), "size": size + 1});
            round.ask(&Ask::new("PUT", target).json(entry.to_string()), &[204], &[]);
        }
        2 => {
            let Some(answer) = round.ask(&Ask::new("GET", target), &[200], &["config_not_found"]) else {
                return;
            };
            let is_whole = |json: serde_json::Value| {
                json["size"].as_u64() == json["command"].as_str().map(|command| command.len() as u64)
            };
            if !answer.json().is_some_and(is_whole) {
                round.violated(format!("{query} is not as it was written: {}", answer.text()));
            }
        }
        _ => drop(round.ask(&Ask::new("DELETE", target), &[204], &[])),
    }
}

//! fast-agent: OpenAI Chat Completions.

use super::{Recipe, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let base = format!("{url}/v1");
    let environment = variables(&[
        ("FAST_AGENT_MODEL", "generic.scripted"),
        ("GENERIC_BASE_URL", &base),
        ("GENERIC_API_KEY", "dummy"),
    ]);
    Recipe { agent: "fast-agent", environment, files: Vec::new() }
}

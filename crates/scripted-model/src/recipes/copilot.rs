//! GitHub Copilot: OpenAI Chat Completions, offline.

use super::{Recipe, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let base = format!("{url}/v1");
    let environment = variables(&[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_BASE_URL", &base),
        ("COPILOT_PROVIDER_API_KEY", "dummy"),
        ("COPILOT_MODEL", "gpt-5.4"),
        ("COPILOT_PROVIDER_WIRE_MODEL", "scripted"),
    ]);
    Recipe { agent: "copilot", environment, files: Vec::new() }
}

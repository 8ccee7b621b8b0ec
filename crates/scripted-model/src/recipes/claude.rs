//! Claude Agent: Anthropic Messages.

use super::{Recipe, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment = variables(&[
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "sk-ant-dummy"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ]);
    Recipe { agent: "claude", environment, files: Vec::new() }
}

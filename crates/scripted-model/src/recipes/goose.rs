//! goose: OpenAI Chat Completions.

use super::{Recipe, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment = variables(&[
        ("GOOSE_PROVIDER", "openai"),
        ("GOOSE_MODEL", "scripted"),
        ("GOOSE_MODE", "approve"),
        ("OPENAI_HOST", url),
        ("OPENAI_API_KEY", "dummy"),
        ("GOOSE_DISABLE_KEYRING", "1"),
        ("GOOSE_TELEMETRY_ENABLED", "false"),
    ]);
    Recipe { agent: "goose", environment, files: Vec::new() }
}

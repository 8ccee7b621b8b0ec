//! Kimi Code: OpenAI Chat Completions.

use super::{Recipe, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let base = format!("{url}/v1");
    let environment = variables(&[
        ("KIMI_MODEL_NAME", "scripted"),
        ("KIMI_MODEL_API_KEY", "dummy"),
        ("KIMI_MODEL_PROVIDER_TYPE", "openai"),
        ("KIMI_MODEL_BASE_URL", &base),
        ("KIMI_MODEL_MAX_CONTEXT_SIZE", "128000"),
        ("KIMI_CODE_NO_AUTO_UPDATE", "1"),
        ("KIMI_DISABLE_TELEMETRY", "1"),
    ]);
    Recipe { agent: "kimi", environment, files: Vec::new() }
}

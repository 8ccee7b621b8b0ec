//! Mistral Vibe: OpenAI Chat Completions, with a custom provider.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let content = format!(
        r#"active_model = "scripted"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false

[[providers]]
name = "local"
api_base = "{url}/v1"
api_key_env_var = "LOCAL_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted"
provider = "local"
alias = "scripted"

[[models]]
name = "scripted-large"
provider = "local"
alias = "scripted-large"
"#
    );
    let file = SettingsFile { path: "~/.vibe/config.toml", content };
    Recipe { agent: "vibe", environment: variables(&[("LOCAL_KEY", "dummy")]), files: vec![file] }
}

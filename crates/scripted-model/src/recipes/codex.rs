//! Codex: OpenAI Responses, with a custom provider.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment =
        variables(&[("LOCAL_KEY", "dummy"), ("INITIAL_AGENT_MODE", "read-only"), ("NO_BROWSER", "1")]);
    let content = format!(
        r#"model = "gpt-5.5"
model_provider = "local"
check_for_update_on_startup = false

[model_providers.local]
name = "local"
base_url = "{url}/v1"
env_key = "LOCAL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[features]
plugins = false
apps = false

[analytics]
enabled = false
"#
    );
    Recipe {
        agent: "codex",
        environment,
        files: vec![SettingsFile { path: "~/.codex/config.toml", content }],
    }
}

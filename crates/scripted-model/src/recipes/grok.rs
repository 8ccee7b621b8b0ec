//! Grok Build: OpenAI Chat Completions, with custom models.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment = variables(&[
        ("XAI_API_KEY", "dummy"),
        ("GROK_DISABLE_AUTOUPDATER", "1"),
        ("GROK_TELEMETRY_ENABLED", "false"),
        ("GROK_FEEDBACK_ENABLED", "false"),
    ]);
    let model = |name: &str| {
        format!(
            r#"
[model.{name}]
model = "{name}"
name = "{name}"
base_url = "{url}/v1"
api_key = "dummy"
api_backend = "chat_completions"
context_window = 128000
"#
        )
    };
    let content =
        format!("[models]\ndefault = \"scripted\"\n{}{}", model("scripted"), model("scripted-large"));
    let file = SettingsFile { path: "~/.grok/config.toml", content };
    Recipe { agent: "grok", environment, files: vec![file] }
}

//! OpenCode: OpenAI Chat Completions, with a custom provider.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment = variables(&[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_DISABLE_SHARE", "1"),
    ]);
    let file = SettingsFile { path: "~/.config/opencode/opencode.json", content: settings(url) };
    Recipe { agent: "opencode", environment, files: vec![file] }
}

/// The content of the settings file.
pub(super) fn settings(url: &str) -> String {
    format!(
        r#"{{
  "model": "local/scripted",
  "small_model": "local/scripted",
  "enabled_providers": ["local"],
  "provider": {{
    "local": {{
      "name": "local",
      "npm": "@ai-sdk/openai-compatible",
      "options": {{"baseURL": "{url}/v1", "apiKey": "dummy"}},
      "models": {{
        "scripted": {{"name": "scripted", "limit": {{"context": 128000, "output": 8192}}}},
        "scripted-large": {{"name": "scripted-large", "limit": {{"context": 128000, "output": 8192}}}}
      }}
    }}
  }},
  "permission": {{"bash": "ask", "edit": "ask", "webfetch": "ask"}}
}}
"#
    )
}

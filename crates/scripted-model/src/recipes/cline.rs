//! Cline: OpenAI Chat Completions.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment = variables(&[
        ("CLINE_API_KEY", "dummy"),
        ("CLINE_PROVIDER", "openai-compatible"),
        ("CLINE_MODEL", "scripted"),
        ("CLINE_NO_AUTO_UPDATE", "1"),
    ]);
    let content = format!(
        r#"{{
  "version": 1,
  "lastUsedProvider": "openai-compatible",
  "modes": {{}},
  "providers": {{
    "openai-compatible": {{
      "settings": {{"provider": "openai-compatible", "apiKey": "dummy", "model": "scripted", "baseUrl": "{url}/v1"}},
      "updatedAt": "2026-11-01T00:00:00.000Z",
      "tokenSource": "manual"
    }}
  }}
}}
"#
    );
    let file = SettingsFile { path: "~/.cline/data/settings/providers.json", content };
    Recipe { agent: "cline", environment, files: vec![file] }
}

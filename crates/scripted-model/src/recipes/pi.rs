//! Pi: OpenAI Chat Completions, with a custom provider.

use super::{Recipe, SettingsFile};

pub(super) fn recipe(url: &str) -> Recipe {
    let models = format!(
        r#"{{
  "providers": {{
    "local": {{
      "baseUrl": "{url}/v1",
      "api": "openai-completions",
      "apiKey": "dummy",
      "models": [{{"id": "scripted"}}, {{"id": "scripted-large"}}]
    }}
  }}
}}
"#
    );
    let settings = r#"{
  "defaultProvider": "local",
  "defaultModel": "scripted",
  "enableInstallTelemetry": false
}
"#;
    let files = vec![
        SettingsFile { path: "~/.pi/agent/models.json", content: models },
        SettingsFile { path: "~/.pi/agent/settings.json", content: settings.to_owned() },
    ];
    Recipe { agent: "pi", environment: Vec::new(), files }
}

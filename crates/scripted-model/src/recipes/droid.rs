//! Factory Droid: OpenAI Chat Completions, with custom models.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment = variables(&[("FACTORY_API_KEY", "fk-dummy"), ("FACTORY_AIRGAP_ENABLED", "true")]);
    let model = |name: &str, title: &str| {
        format!(
            r#"{{"model": "{name}", "displayName": "{title}", "baseUrl": "{url}/v1", "apiKey": "dummy", "provider": "generic-chat-completion-api"}}"#
        )
    };
    let content = format!(
        r#"{{
  "model": "custom:Scripted-0",
  "sessionDefaultSettings": {{"model": "custom:Scripted-0"}},
  "customModels": [
    {},
    {}
  ]
}}
"#,
        model("scripted", "Scripted"),
        model("scripted-large", "Scripted large")
    );
    let file = SettingsFile { path: "~/.factory/settings.json", content };
    Recipe { agent: "droid", environment, files: vec![file] }
}

//! Gemini CLI: the Gemini format.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment = variables(&[
        ("GOOGLE_GEMINI_BASE_URL", url),
        ("GEMINI_API_KEY", "dummy"),
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ("NO_BROWSER", "true"),
    ]);
    let content = r#"{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false}
}
"#;
    let file = SettingsFile { path: "~/.gemini/settings.json", content: content.to_owned() };
    Recipe { agent: "gemini", environment, files: vec![file] }
}

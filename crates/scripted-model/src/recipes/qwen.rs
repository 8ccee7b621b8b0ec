//! Qwen Code: OpenAI Chat Completions.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let base = format!("{url}/v1");
    let environment = variables(&[
        ("OPENAI_BASE_URL", &base),
        ("OPENAI_API_KEY", "dummy"),
        ("OPENAI_MODEL", "scripted"),
        ("QWEN_CODE_NO_RELAUNCH", "true"),
        ("NO_BROWSER", "true"),
    ]);
    let content = r#"{
  "security": {"auth": {"selectedType": "openai"}},
  "tools": {"approvalMode": "default"},
  "general": {"enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "memory": {"enableManagedAutoMemory": false}
}
"#;
    let file = SettingsFile { path: "~/.qwen/settings.json", content: content.to_owned() };
    Recipe { agent: "qwen", environment, files: vec![file] }
}

//! OpenHands: OpenAI Chat Completions.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let model = |purpose: &str| {
        format!(
            r#"{{"model": "openai/scripted", "api_key": "dummy", "base_url": "{url}/v1", "usage_id": "{purpose}"}}"#
        )
    };
    let content = format!(
        r#"{{
  "kind": "Agent",
  "llm": {},
  "condenser": {{"kind": "LLMSummarizingCondenser", "llm": {}}}
}}
"#,
        model("agent"),
        model("condenser")
    );
    let file = SettingsFile { path: "~/.openhands/agent_settings.json", content };
    Recipe {
        agent: "openhands",
        environment: variables(&[("OPENHANDS_SUPPRESS_BANNER", "1")]),
        files: vec![file],
    }
}

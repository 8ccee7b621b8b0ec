//! Hermes Agent: OpenAI Chat Completions, with a custom endpoint.

use super::{Recipe, SettingsFile, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let content = format!(
        r#"model:
  provider: custom
  default: scripted
  base_url: {url}/v1
  api_key: dummy
"#
    );
    let file = SettingsFile { path: "~/.hermes/config.yaml", content };
    Recipe { agent: "hermes", environment: variables(&[("OPENAI_API_KEY", "dummy")]), files: vec![file] }
}

//! How to point common agents at the model: environment variables, and the files that some want beside them.

/// One agent's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The agent's id in the catalog.
    pub agent: &'static str,
    /// Variables to start the server, and with it the agent, with.
    pub environment: Vec<(&'static str, String)>,
    /// A file that must be there too.
    pub file: Option<SettingsFile>,
}

/// A settings file of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// Where it belongs.
    pub path: &'static str,
    /// What it holds.
    pub content: String,
}

/// The recipes for a model at `url`, which has no slash at its end.
#[must_use]
pub fn recipes(url: &str) -> Vec<Recipe> {
    vec![claude(url), codex(url), opencode(url), gemini(url), qwen(url), goose(url), kimi(url), copilot(url)]
}

fn variables(pairs: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

fn claude(url: &str) -> Recipe {
    let environment = variables(&[
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "sk-ant-dummy"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ]);
    Recipe { agent: "claude", environment, file: None }
}

fn codex(url: &str) -> Recipe {
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
    Recipe { agent: "codex", environment, file: Some(SettingsFile { path: "~/.codex/config.toml", content }) }
}

fn goose(url: &str) -> Recipe {
    let environment = variables(&[
        ("GOOSE_PROVIDER", "openai"),
        ("GOOSE_MODEL", "scripted"),
        ("GOOSE_MODE", "approve"),
        ("OPENAI_HOST", url),
        ("OPENAI_API_KEY", "dummy"),
        ("GOOSE_DISABLE_KEYRING", "1"),
        ("GOOSE_TELEMETRY_ENABLED", "false"),
    ]);
    Recipe { agent: "goose", environment, file: None }
}

fn qwen(url: &str) -> Recipe {
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
    Recipe { agent: "qwen", environment, file: Some(file) }
}

fn gemini(url: &str) -> Recipe {
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
    Recipe { agent: "gemini", environment, file: Some(file) }
}

fn opencode(url: &str) -> Recipe {
    let environment = variables(&[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_DISABLE_SHARE", "1"),
    ]);
    let content = format!(
        r#"{{
  "model": "local/scripted",
  "small_model": "local/scripted",
  "enabled_providers": ["local"],
  "provider": {{
    "local": {{
      "name": "local",
      "npm": "@ai-sdk/openai-compatible",
      "options": {{"baseURL": "{url}/v1", "apiKey": "dummy"}},
      "models": {{"scripted": {{"name": "scripted", "limit": {{"context": 128000, "output": 8192}}}}}}
    }}
  }},
  "permission": {{"bash": "ask", "edit": "ask", "webfetch": "ask"}}
}}
"#
    );
    let file = SettingsFile { path: "~/.config/opencode/opencode.json", content };
    Recipe { agent: "opencode", environment, file: Some(file) }
}

fn kimi(url: &str) -> Recipe {
    let base = format!("{url}/v1");
    let environment = variables(&[
        ("KIMI_MODEL_NAME", "scripted"),
        ("KIMI_MODEL_API_KEY", "dummy"),
        ("KIMI_MODEL_PROVIDER_TYPE", "openai"),
        ("KIMI_MODEL_BASE_URL", &base),
        ("KIMI_MODEL_MAX_CONTEXT_SIZE", "128000"),
        ("KIMI_CODE_NO_AUTO_UPDATE", "1"),
        ("KIMI_DISABLE_TELEMETRY", "1"),
    ]);
    Recipe { agent: "kimi", environment, file: None }
}

fn copilot(url: &str) -> Recipe {
    let base = format!("{url}/v1");
    let environment = variables(&[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_BASE_URL", &base),
        ("COPILOT_PROVIDER_API_KEY", "dummy"),
        ("COPILOT_MODEL", "gpt-5.4"),
        ("COPILOT_PROVIDER_WIRE_MODEL", "scripted"),
    ]);
    Recipe { agent: "copilot", environment, file: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_names_the_model_and_every_json_file_is_json() {
        let url = "http://127.0.0.1:1";
        for recipe in recipes(url) {
            let in_environment = recipe.environment.iter().any(|(_, value)| value.starts_with(url));
            let in_file = recipe.file.as_ref().is_some_and(|file| file.content.contains(url));
            assert!(in_environment || in_file, "{} would not find the model", recipe.agent);
            if let Some(file) = recipe.file.filter(|file| file.path.ends_with(".json")) {
                let parsed = serde_json::from_str::<serde_json::Value>(&file.content);
                assert!(parsed.is_ok(), "{}", file.path);
            }
        }
    }
}

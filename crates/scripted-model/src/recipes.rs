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
    vec![claude(url), codex(url), goose(url), qwen(url), gemini(url)]
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

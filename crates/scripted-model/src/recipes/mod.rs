//! Settings that make common agents use the model: environment variables, and settings files for some. One module
//! per agent; the matrix of real agents runs with these same settings.

mod claude;
mod cline;
mod codex;
mod copilot;
mod droid;
mod fast_agent;
mod gemini;
mod goose;
mod grok;
mod hermes;
mod kilo;
mod kimi;
mod opencode;
mod openhands;
mod pi;
mod qwen;
mod vibe;

use serde::Serialize;

/// One agent's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recipe {
    /// The agent's id in the catalog.
    pub agent: &'static str,
    /// Environment variables for the server, which passes them to the agent.
    pub environment: Vec<Variable>,
    /// Required settings files.
    pub files: Vec<SettingsFile>,
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// The variable's name.
    pub name: &'static str,
    /// The variable's value.
    pub value: String,
}

/// A settings file of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingsFile {
    /// The file's path; `~` is the agent's `HOME`.
    pub path: &'static str,
    /// The file's content.
    pub content: String,
}

/// The recipes for a model at `url`, which has no trailing slash.
#[must_use]
pub fn recipes(url: &str) -> Vec<Recipe> {
    vec![
        claude::recipe(url),
        codex::recipe(url),
        opencode::recipe(url),
        gemini::recipe(url),
        qwen::recipe(url),
        goose::recipe(url),
        kimi::recipe(url),
        copilot::recipe(url),
        pi::recipe(url),
        kilo::recipe(url),
        droid::recipe(url),
        grok::recipe(url),
        cline::recipe(url),
        fast_agent::recipe(url),
        vibe::recipe(url),
        hermes::recipe(url),
        openhands::recipe(url),
    ]
}

fn variables(pairs: &[(&'static str, &str)]) -> Vec<Variable> {
    pairs.iter().map(|(name, value)| Variable { name, value: (*value).to_owned() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_names_the_model_and_every_json_file_is_json() {
        let url = "http://127.0.0.1:1";
        for recipe in recipes(url) {
            let in_environment = recipe.environment.iter().any(|variable| variable.value.starts_with(url));
            let in_file = recipe.files.iter().any(|file| file.content.contains(url));
            assert!(in_environment || in_file, "{} would not find the model", recipe.agent);
            for file in recipe.files.iter().filter(|file| file.path.ends_with(".json")) {
                let parsed = serde_json::from_str::<serde_json::Value>(&file.content);
                assert!(parsed.is_ok(), "{}", file.path);
            }
        }
    }
}

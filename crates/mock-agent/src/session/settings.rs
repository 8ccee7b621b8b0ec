//! A session's settings: mode, model and thought level, each with a fixed list of choices.
//!
//! As ACP requires, the mode appears twice: as session mode and as a config option of category `mode`. Both show
//! the same value.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use serde::{Deserialize, Serialize};

/// One value of a setting: id, name, description.
struct Choice(&'static str, &'static str, &'static str);

const MODES: &[Choice] = &[
    Choice("ask", "Ask", "Asks before it changes anything."),
    Choice("code", "Code", "Changes files."),
    Choice("plan", "Plan", "Only makes plans."),
];
const MODELS: &[Choice] = &[
    Choice("mock-small", "Mock Small", "Answers at once."),
    Choice("mock-medium", "Mock Medium", "Answers at once, too."),
    Choice("mock-large", "Mock Large", "Says the same as the others."),
];
const THOUGHT_LEVELS: &[Choice] = &[
    Choice("low", "Low", "Thinks little."),
    Choice("medium", "Medium", "Thinks some."),
    Choice("high", "High", "Thinks a lot."),
];

/// A setting that a client can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Mode,
    Model,
    ThoughtLevel,
}

impl Setting {
    const ALL: [Self; 3] = [Self::Mode, Self::Model, Self::ThoughtLevel];

    /// The setting with this config option id.
    pub(crate) fn with_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.id() == id)
    }

    fn id(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Model => "model",
            Self::ThoughtLevel => "thought_level",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Mode => "Mode",
            Self::Model => "Model",
            Self::ThoughtLevel => "Thought level",
        }
    }

    fn category(self) -> SessionConfigOptionCategory {
        match self {
            Self::Mode => SessionConfigOptionCategory::Mode,
            Self::Model => SessionConfigOptionCategory::Model,
            Self::ThoughtLevel => SessionConfigOptionCategory::ThoughtLevel,
        }
    }

    fn choices(self) -> &'static [Choice] {
        match self {
            Self::Mode => MODES,
            Self::Model => MODELS,
            Self::ThoughtLevel => THOUGHT_LEVELS,
        }
    }

    /// The ids of the setting's choices.
    pub(crate) fn values(self) -> Vec<&'static str> {
        self.choices().iter().map(|choice| choice.0).collect()
    }
}

/// The chosen values of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settings {
    mode: String,
    model: String,
    thought_level: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { mode: "ask".into(), model: "mock-small".into(), thought_level: "medium".into() }
    }
}

impl Settings {
    /// The current value of a setting.
    pub(crate) fn get(&self, setting: Setting) -> &str {
        match setting {
            Setting::Mode => &self.mode,
            Setting::Model => &self.model,
            Setting::ThoughtLevel => &self.thought_level,
        }
    }

    /// Sets a value; returns `false` if it is not one of the choices.
    #[must_use]
    pub(crate) fn set(&mut self, setting: Setting, value: &str) -> bool {
        let Some(choice) = setting.choices().iter().find(|choice| choice.0 == value) else {
            return false;
        };
        let field = match setting {
            Setting::Mode => &mut self.mode,
            Setting::Model => &mut self.model,
            Setting::ThoughtLevel => &mut self.thought_level,
        };
        *field = choice.0.to_owned();
        true
    }

    /// The settings as ACP session modes.
    pub(crate) fn modes(&self) -> SessionModeState {
        let modes = MODES
            .iter()
            .map(|Choice(id, name, description)| {
                SessionMode::new(*id, *name).description((*description).to_owned())
            })
            .collect();
        SessionModeState::new(self.mode.clone(), modes)
    }

    /// The settings as ACP config options.
    pub(crate) fn config_options(&self) -> Vec<SessionConfigOption> {
        Setting::ALL
            .into_iter()
            .map(|setting| {
                let options: Vec<_> = setting
                    .choices()
                    .iter()
                    .map(|Choice(id, name, description)| {
                        SessionConfigSelectOption::new(*id, *name).description((*description).to_owned())
                    })
                    .collect();
                SessionConfigOption::select(
                    setting.id(),
                    setting.name(),
                    self.get(setting).to_owned(),
                    options,
                )
                .category(setting.category())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_value_changes_nothing() {
        let mut settings = Settings::default();
        assert!(!settings.set(Setting::Model, "gpt"));
        assert_eq!(settings, Settings::default());
        assert!(settings.set(Setting::Model, "mock-large"));
        assert_eq!(settings.get(Setting::Model), "mock-large");
    }

    #[test]
    fn every_default_is_one_of_its_choices() {
        let settings = Settings::default();
        for setting in Setting::ALL {
            assert!(setting.values().contains(&settings.get(setting)), "{setting:?}");
        }
    }
}

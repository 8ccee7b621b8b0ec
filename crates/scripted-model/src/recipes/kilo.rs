//! Kilo Code, which is derived from OpenCode and has the same settings.

use super::{Recipe, SettingsFile, opencode, variables};

pub(super) fn recipe(url: &str) -> Recipe {
    let environment = variables(&[
        ("KILO_DISABLE_AUTOUPDATE", "1"),
        ("KILO_DISABLE_MODELS_FETCH", "1"),
        ("KILO_DISABLE_LSP_DOWNLOAD", "1"),
        ("KILO_DISABLE_DEFAULT_PLUGINS", "1"),
        ("KILO_DISABLE_SHARE", "1"),
        ("KILO_TELEMETRY_LEVEL", "off"),
    ]);
    let file = SettingsFile { path: "~/.config/kilo/kilo.json", content: opencode::settings(url) };
    Recipe { agent: "kilo", environment, files: vec![file] }
}

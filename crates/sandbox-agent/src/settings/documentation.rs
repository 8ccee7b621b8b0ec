//! `docs/configuration.md` is generated from the server's flags and the keys of the config file. `BLESS=1 cargo test -p
//! sandbox-agent documentation` regenerates it.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{Arg, Args, Command};

use super::arguments::ServerArguments;
use super::file::ConfigFile;

const HEAD: &str = "# Configuration\n\n\
    Every setting of `sandbox-agent server` is a flag. Most settings are also an environment variable and a key in the\n\
    config file. Flags take precedence over variables, variables over the file, and the file over the defaults. The\n\
    file is TOML. Its path is `--config` or `SANDBOX_AGENT_CONFIG`; the default is\n\
    `$XDG_CONFIG_HOME/sandbox-agent/config.toml`, if that file exists. Unknown keys are rejected. Sizes and times have\n\
    units: `64MiB`, `90s`, `1h`.\n\n\
    ```toml\n\
    port = 9000\n\
    token_file = \"/etc/sandbox-agent/token\"\n\n\
    [limits]\n\
    replay_bytes = \"16MiB\"\n\
    request_timeout = \"30m\"\n\n\
    [agents.mine]\n\
    command = \"./agent\"\n\
    args = [\"--acp\"]\n\
    ```\n\n\
    This page is generated from the flags and the keys.\n\n\
    | flag | environment | config key | default | meaning |\n|---|---|---|---|---|\n";

fn page() -> String {
    let command = ServerArguments::augment_args(Command::new("server"));
    let (top, limits) = (keys(""), keys("[limits]\n"));
    let rows = command.get_arguments().filter(|argument| argument.get_long().is_some()).map(|argument| {
        let id = argument.get_id().as_str();
        let key = match id {
            "custom_agent" => "agents.NAME".to_owned(),
            id if top.contains(id) => id.to_owned(),
            id if limits.contains(id) => format!("limits.{id}"),
            _ => String::new(),
        };
        row(argument, &key)
    });
    format!("{HEAD}{}\n", rows.collect::<Vec<_>>().join("\n"))
}

/// The keys of a table of the file, taken from the error message about an unknown key.
fn keys(table: &str) -> BTreeSet<String> {
    let error = toml::from_str::<ConfigFile>(&format!("{table}no_such_key = 1")).unwrap_err().to_string();
    let listed = error.split("expected one of").nth(1).expect("the error message lists the keys");
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn row(argument: &Arg, key: &str) -> String {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let (help, default) = without(&help, "default");
    let (help, variable) = without(&help, "env");
    let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned()).or(variable);
    let value = argument.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
    let flag = format!("--{} {value}", argument.get_long().unwrap_or_default());
    let flag = if argument.get_action().takes_values() {
        flag
    } else {
        flag.split(' ').next().unwrap_or_default().to_owned()
    };
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    format!(
        "| `{flag}` | {} | {} | {} | {} |",
        code(&variable.unwrap_or_default()),
        code(key),
        default.unwrap_or_default().replace('|', "\\|"),
        help.replace('|', "\\|"),
    )
}

/// Splits `[name: value]` off a help text.
fn without(help: &str, name: &str) -> (String, Option<String>) {
    let start = format!("[{name}: ");
    match help.split_once(&start).and_then(|(before, rest)| Some((before, rest.split_once(']')?))) {
        Some((before, (value, after))) => (format!("{}{after}", before.trim_end()), Some(value.to_owned())),
        None => (help.to_owned(), None),
    }
}

#[test]
fn the_configuration_page_matches_the_flags() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/configuration.md is stale; run BLESS=1 cargo test -p sandbox-agent documentation"
    );
}

#[test]
fn every_key_of_the_config_file_belongs_to_a_flag() {
    let page = page();
    for key in keys("").into_iter().filter(|key| key != "limits" && key != "agents") {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
    for key in keys("[limits]\n") {
        assert!(page.contains(&format!("| `limits.{key}` |")), "{key}");
    }
}

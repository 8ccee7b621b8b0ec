//! `docs/cli.md` is generated from the definition of the command line. `BLESS=1 cargo test -p sandbox-agent
//! documentation` regenerates it.

use std::path::Path;

use clap::{Arg, Command};

use super::examples;
use super::exit::Exit;

fn page() -> String {
    let mut command = super::command();
    command.build();
    let mut page = String::from(include_str!("documentation_head.md"));
    page += "## Exit codes\n\n| code | meaning |\n|---|---|\n";
    for exit in Exit::ALL {
        page += &format!("| {} | {} |\n", exit.code(), exit.meaning());
    }
    page += "\nThe rest of this page is generated from the definition of the command line.\n";
    for inner in visible_subcommands(&command) {
        describe(inner, &command, 2, &mut page);
    }
    page
}

fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

fn describe(command: &Command, parent: &Command, depth: usize, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    *page += &format!("\n{} `{name}`\n\n", "#".repeat(depth.min(4)));
    if let Some(about) = command.get_about() {
        *page += &format!("{about}.\n");
    }
    let known = |argument: &Arg| parent.get_arguments().any(|outer| outer.get_id() == argument.get_id());
    let own = command.get_arguments().filter(|argument| {
        !argument.is_hide_set()
            && argument.get_id() != "help"
            && argument.get_id() != "version"
            && !(argument.is_global_set() && known(argument))
    });
    let rows: Vec<String> = own.map(row).collect();
    if !rows.is_empty() {
        *page += &format!("\n| argument | meaning |\n|---|---|\n{}\n", rows.join("\n"));
    }
    if let Some(examples) = examples::of(name) {
        *page += &format!("\n```text\n{}\n```\n", examples.join("\n"));
    }
    for inner in visible_subcommands(command) {
        describe(inner, command, depth + 1, page);
    }
}

fn row(argument: &Arg) -> String {
    let named = argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string);
    let value = named.collect::<Vec<_>>().join(" ");
    // As in the help text, a value without a name gets the name of the argument.
    let value = if value.is_empty() { argument.get_id().to_string() } else { value };
    let takes_value = argument.get_action().takes_values();
    let mut names: Vec<String> = argument.get_short().map(|short| format!("-{short}")).into_iter().collect();
    names.extend(argument.get_long().map(|long| format!("--{long}")));
    let shown = match (names.is_empty(), takes_value) {
        (true, _) => value,
        (false, true) => format!("{} {value}", names.join(", ")),
        (false, false) => names.join(", "),
    };
    let mut meaning = argument.get_help().map(ToString::to_string).unwrap_or_default();
    if argument.is_required_set() {
        meaning += " (required)";
    }
    let values: Vec<String> = if takes_value {
        argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
    } else {
        Vec::new()
    };
    if !values.is_empty() && !meaning.contains(&values.join(" or ")) {
        meaning += &format!(" [{}]", values.join(", "));
    }
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_value && !defaults.is_empty() {
        meaning += &format!(" [default: {}]", defaults.join(" "));
    }
    if let Some(variable) = argument.get_env() {
        meaning += &format!(" [env: {}]", variable.to_string_lossy());
    }
    format!("| `{shown}` | {} |", meaning.replace('|', "\\|"))
}

#[test]
fn the_command_line_page_matches_the_definition() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/cli.md is stale; run BLESS=1 cargo test -p sandbox-agent documentation");
}

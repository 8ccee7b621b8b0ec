//! The examples in the help text of each command. A test checks that every command has some and that all of them parse.

use clap::Command;

/// The words of each command after `sandbox-agent`, with its examples.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "server",
        &[
            "sandbox-agent server",
            "sandbox-agent server --host 0.0.0.0 --token-file /etc/sandbox-agent/token",
        ],
    ),
    (
        "prompt",
        &[
            "sandbox-agent prompt mock \"hello\"",
            "sandbox-agent prompt claude \"Fix the failing test\" --allow once",
            "git diff | sandbox-agent prompt claude - --quiet",
        ],
    ),
    (
        "install",
        &[
            "sandbox-agent install claude",
            "sandbox-agent install claude codex",
            "sandbox-agent install --all",
        ],
    ),
    ("update", &["sandbox-agent update", "sandbox-agent update claude codex"]),
    ("uninstall", &["sandbox-agent uninstall claude", "sandbox-agent uninstall claude codex"]),
    ("prune", &["sandbox-agent prune", "sandbox-agent prune --json"]),
    ("agents", &["sandbox-agent agents list", "sandbox-agent agents show claude"]),
    ("agents list", &["sandbox-agent agents list --json"]),
    ("agents show", &["sandbox-agent agents show claude --probe"]),
    ("agents lock", &["sandbox-agent agents lock --output agents.lock"]),
    ("agents bundle", &["sandbox-agent agents bundle claude codex --output agents.bundle"]),
    ("agents unbundle", &["sandbox-agent agents unbundle agents.bundle"]),
    (
        "fs",
        &[
            "sandbox-agent fs ls src",
            "sandbox-agent fs put notes.txt docs/",
            "sandbox-agent fs get docs/notes.txt",
        ],
    ),
    ("fs ls", &["sandbox-agent fs ls --long src", "sandbox-agent fs ls --recursive src"]),
    ("fs cat", &["sandbox-agent fs cat README.md"]),
    ("fs put", &["sandbox-agent fs put notes.txt docs/", "echo hello | sandbox-agent fs put - notes.txt"]),
    ("fs get", &["sandbox-agent fs get docs/notes.txt", "sandbox-agent fs get docs/notes.txt copy.txt"]),
    ("fs rm", &["sandbox-agent fs rm --recursive build"]),
    ("fs mv", &["sandbox-agent fs mv notes.txt docs/notes.txt"]),
    ("fs mkdir", &["sandbox-agent fs mkdir src/new"]),
    ("fs stat", &["sandbox-agent fs stat notes.txt"]),
    ("fs upload", &["sandbox-agent fs upload ./project project --compress"]),
    ("fs download", &["sandbox-agent fs download project ./copy --compress"]),
    ("fs watch", &["sandbox-agent fs watch src"]),
    ("mcp", &["sandbox-agent mcp list", "sandbox-agent mcp set files -- npx some-mcp-server /data"]),
    ("mcp list", &["sandbox-agent mcp list --directory project"]),
    ("mcp get", &["sandbox-agent mcp get files"]),
    (
        "mcp set",
        &[
            "sandbox-agent mcp set files -- npx some-mcp-server /data",
            "sandbox-agent mcp set search --at https://mcp.example.com --header Authorization=secret",
            "sandbox-agent mcp set docs --at https://mcp.example.com --bearer-token-env DOCS_TOKEN",
            "sandbox-agent mcp set files --entry @files.json",
        ],
    ),
    ("mcp rm", &["sandbox-agent mcp rm files"]),
    ("skills", &["sandbox-agent skills list", "sandbox-agent skills set review --github owner/skills"]),
    ("skills list", &["sandbox-agent skills list --directory project"]),
    ("skills get", &["sandbox-agent skills get review"]),
    (
        "skills set",
        &[
            "sandbox-agent skills set review --github owner/skills --skill review",
            "sandbox-agent skills set team --github owner/skills --ref v1 --local /srv/skills",
            "sandbox-agent skills set team --entry @skills.json",
        ],
    ),
    ("skills rm", &["sandbox-agent skills rm review"]),
    ("acp", &["sandbox-agent acp list", "sandbox-agent acp stream demo", "sandbox-agent acp close demo"]),
    ("acp list", &["sandbox-agent acp list --json"]),
    ("acp post", &["sandbox-agent acp post demo --agent mock @initialize.json"]),
    ("acp stream", &["sandbox-agent acp stream demo", "sandbox-agent acp stream --journal --json"]),
    ("acp close", &["sandbox-agent acp close demo"]),
    ("api", &["sandbox-agent api v1 health", "sandbox-agent api v1 fs stat --path notes.txt"]),
    (
        "completions",
        &["sandbox-agent completions bash > ~/.local/share/bash-completion/completions/sandbox-agent"],
    ),
    ("man", &["sandbox-agent man fs put | man -l -", "sandbox-agent man --output ~/.local/share/man/man1"]),
    ("model", &["sandbox-agent model", "sandbox-agent model --port 0 --quiet"]),
    ("mock-agent", &["sandbox-agent server --agent mine='sandbox-agent mock-agent'"]),
];

/// The examples of a command, whose name is given as `sandbox-agent fs put`.
pub(super) fn of(name: &str) -> Option<&'static [&'static str]> {
    let words = name.strip_prefix("sandbox-agent ")?;
    EXAMPLES.iter().find(|(command, _)| *command == words).map(|(_, examples)| *examples)
}

/// Adds the examples to the help texts of a command and its subcommands.
pub(super) fn add_to(command: Command) -> Command {
    let name = command.get_name().to_owned();
    add_below(command, &name)
}

fn add_below(mut command: Command, name: &str) -> Command {
    if let Some(examples) = of(name) {
        command = command.after_help(format!("Examples:\n  {}", examples.join("\n  ")));
    }
    let inner: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    inner.into_iter().fold(command, |command, word| {
        let full = format!("{name} {word}");
        command.mut_subcommand(word, |inner| add_below(inner, &full))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::split_words;

    fn names_below(command: &Command, name: &str) -> Vec<String> {
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        inner
            .flat_map(|inner| {
                let full = format!("{name} {}", inner.get_name());
                let below = names_below(inner, &full);
                std::iter::once(full).chain(below)
            })
            .collect()
    }

    #[test]
    fn every_command_except_the_endpoints_of_api_has_examples() {
        let commands = names_below(&crate::cli::command(), "sandbox-agent");
        let without: Vec<_> = commands
            .iter()
            .filter(|name| !name.starts_with("sandbox-agent api ") && of(name).is_none())
            .collect();
        assert!(without.is_empty(), "{without:?}");
        for (words, _) in EXAMPLES {
            assert!(commands.contains(&format!("sandbox-agent {words}")), "there is no command {words}");
        }
    }

    #[test]
    fn every_example_parses() {
        for example in EXAMPLES.iter().flat_map(|(_, examples)| examples.iter()) {
            // Leave out the pipes and redirections of the shell.
            let start = example.find("sandbox-agent").unwrap();
            let call = example[start..].split(" | ").next().unwrap_or_default();
            let call = call.split(" > ").next().unwrap_or_default();
            let words = split_words(call).unwrap();
            let parsed = crate::cli::command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
    }
}

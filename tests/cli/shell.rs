//! Shell completions and manual pages, checked by the programs that read them, and properties of every command.

use std::process::{Command, Stdio};

use crate::support::Place;

#[test]
fn completions_are_valid_scripts_for_their_shells() {
    let place = Place::new();
    for (shell, check) in [("bash", Some("-n")), ("zsh", Some("-n")), ("fish", Some("--no-execute"))] {
        let script = place.run(&["completions", shell]).done().output;
        assert!(script.contains("sandbox-agent") && script.contains("prompt"), "{shell}");
        let file = place.file(&format!("script.{shell}"), &script);
        let checked = Command::new(shell).args(check).arg(file).stderr(Stdio::piped()).output();
        // Bash is always available; the other shells check their scripts if they are installed.
        match checked {
            Ok(output) => {
                assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
            }
            Err(error) => assert!(shell != "bash", "{error}"),
        }
    }
    place.run(&["completions", "tcsh"]).exits(2);
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    let page = place.run(&["man"]).done().output;
    assert!(page.contains(".TH sandbox-agent 1"), "{page}");
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SUBCOMMANDS"] {
        assert!(page.contains(&format!(".SH {section}")), "{section}: {page}");
    }
    assert!(page.contains("Exit codes:"), "{page}");
    let one = place.run(&["man", "fs", "put"]).done().output;
    assert!(one.contains(".TH sandbox-agent-fs-put 1") && one.contains("no\\-clobber"), "{one}");
    place.run(&["man", "fs", "fly"]).exits(3);
    let written = place.run(&["man", "--output", "pages"]).done().output;
    assert!(written.lines().count() > 60, "{written}");
    let page = place.path("pages/sandbox-agent-prompt.1");
    assert!(std::fs::read_to_string(&page).unwrap().contains("\\-\\-allow"));
    // If `man` is installed, it renders the page.
    if let Ok(shown) = Command::new("man").args(["-l", "-P", "cat"]).arg(&page).env("MANWIDTH", "80").output()
        && shown.status.success()
    {
        assert!(String::from_utf8_lossy(&shown.stdout).contains("--allow"));
    }
}

#[test]
fn every_command_has_help_with_examples_and_the_exit_codes_are_documented() {
    let place = Place::new();
    let help = place.run(&["--help"]).done().output;
    assert!(help.contains("Exit codes:") && help.contains("130"), "{help}");
    for command in ["prompt", "fs", "mcp", "skills", "acp", "api", "install", "agents", "server", "man"] {
        let help = place.run(&[command, "--help"]).done().output;
        assert!(
            help.contains("Usage: ") && help.contains("Examples:\n  sandbox-agent "),
            "{command}: {help}"
        );
    }
}

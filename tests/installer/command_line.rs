//! `sandbox-agent install` and `sandbox-agent agents`: installs without a server.

use serde_json::json;

use crate::support::depot::FAKE;
use crate::support::npm::machine_with_gemini;
use crate::support::{Depot, Machine, NO_SERVER, script};
use test_harness::eventually;

#[test]
fn install_reports_its_result_and_a_second_one_finds_the_agent_installed() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let first = machine.run(&["install", "fake"]).done();
    assert!(first.output.starts_with("fake installed\n"), "{}", first.output);
    assert!(first.output.contains("agent_process  1.0.0  from registry  "), "{}", first.output);
    assert!(first.errors.is_empty() || first.errors.contains("fake: "), "{}", first.errors);
    let second = machine.run(&["install", "fake"]).done();
    assert!(second.output.starts_with("fake is already installed\n"), "{}", second.output);
    let third = machine.run(&["install", "fake", "--json"]).done().json();
    assert_eq!(
        (&third["already_installed"], &third["artifacts"][0]["source"]),
        (&json!(true), &json!("registry"))
    );
    assert_eq!(depot.requests(FAKE), 1);
    let again = machine.run(&["install", "fake", "--reinstall", "--json"]).done().json();
    assert_eq!(again["already_installed"], false);
    assert_eq!(depot.requests(FAKE), 2);
}

#[test]
fn install_reports_its_steps_on_standard_error() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let gate = depot.hold(FAKE);
    let machine = Machine::new(&depot.registry());
    let running = machine.begin(&["install", "fake", "--json"]);
    eventually("the download is reported", || running.errors().contains("fake: download").then_some(()));
    gate.open();
    let finished = running.end().done();
    assert!(!finished.errors.contains('\u{1b}'), "no terminal, no colours: {:?}", finished.errors);
    assert_eq!(finished.json()["already_installed"], false, "standard output must have only the result");
}

#[test]
fn install_accepts_a_version() {
    let (_depot, machine) = machine_with_gemini(&["0.50.0", "0.51.0"], &json!({}));
    let pinned =
        machine.run(&["install", "gemini", "--agent-process-version", "0.50.0", "--json"]).done().json();
    assert_eq!(pinned["artifacts"][0]["version"], "0.50.0");
    let printed = machine.run(&["install", "gemini", "--agent-process-version", "0.1.0"]).failed();
    assert!(printed.contains("0.1.0"), "{printed}");
    assert_eq!(machine.run(&["agents", "show", "gemini"]).done().json()["version"], "0.50.0");
}

#[test]
fn an_unknown_agent_fails_with_a_hint() {
    let machine = Machine::new(NO_SERVER);
    for arguments in [&["install", "nobody"][..], &["agents", "show", "nobody"]] {
        let printed = machine.run(arguments).failed();
        assert!(printed.contains("\"nobody\"") && printed.contains("sandbox-agent agents list"), "{printed}");
    }
    // Without the registry, it is unknown whether the agent exists.
    assert!(machine.run(&["install", "nobody"]).failed().contains("ACP registry cannot be reached"));
    let printed = machine.run(&["install", "../evil"]).failed();
    assert!(printed.contains("not an agent id"), "{printed}");
    // Invalid usage has its own exit code.
    for arguments in
        [&["install"][..], &["install", "fake", "--all"], &["agents", "bundle"], &["agents", "dance"]]
    {
        let refused = machine.run(arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.errors);
    }
}

#[test]
fn installing_all_continues_after_a_failure_and_reports_the_number_of_failures() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry()).without_runtimes();
    let finished = machine.run(&["install", "--all"]);
    assert_eq!(finished.code, Some(6));
    assert!(finished.output.contains("fake installed\n"), "{}", finished.output);
    assert!(finished.output.contains("mock is already installed\n"), "{}", finished.output);
    assert!(finished.errors.contains("gemini: Node.js"), "{}", finished.errors);
    assert!(finished.errors.contains("agents could not be installed"), "{}", finished.errors);
    let again = machine.run(&["install", "--all", "--json"]).json();
    assert_eq!(again["installed"]["fake"]["already_installed"], true);
    assert!(again["installed"]["gemini"].is_null(), "{again}");
}

#[test]
fn agents_are_listed_and_shown_as_text_and_as_json() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    // The registry's agents are listed even before the first install.
    let fresh = machine.run(&["agents", "list"]).done().output;
    assert!(fresh.contains("not installed; sandbox-agent install fake\n"), "{fresh}");
    machine.run(&["install", "fake"]).done();
    let text = machine.run(&["agents"]).done().output;
    assert_eq!(text, machine.run(&["agents", "list"]).done().output);
    let line = |id: &str| text.lines().find(|line| line.split(' ').next() == Some(id)).unwrap_or_default();
    assert!(line("fake").ends_with("1.0.0 from registry, verified: ok"), "{text}");
    assert!(line("mock").ends_with("from builtin"), "{text}");
    assert!(text.starts_with("AGENT") && text.lines().next().unwrap().ends_with("  STATE"), "{text}");
    assert!(line("gemini").ends_with("not installed; sandbox-agent install gemini"), "{text}");
    let list = machine.run(&["agents", "list", "--json"]).done().json();
    let listed = list["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "fake").unwrap();
    let shown = machine.run(&["agents", "show", "fake", "--json"]).done().json();
    assert_eq!(shown, *listed);
    assert_eq!(
        (&shown["version"], &shown["source"], &shown["installed"]),
        (&json!("1.0.0"), &json!("registry"), &json!(true))
    );
    assert!(shown["modes"].is_null());
    let probed = machine.run(&["agents", "show", "fake", "--probe"]).done().json();
    assert_eq!(probed["modes"]["currentModeId"], "plan");
}

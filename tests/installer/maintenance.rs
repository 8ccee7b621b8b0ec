//! `install` with several agents, `update`, `uninstall` and `prune`.

use serde_json::{Value, json};

use crate::support::depot::FAKE;
use crate::support::{Depot, Machine, NO_SERVER, ask, hello, script};
use test_harness::eventually;

/// A registry that offers the same archive as two agents.
fn two_agents(depot: &Depot) {
    let platform = agent_catalog::Platform::current().key();
    let target = json!({ "archive": depot.url(FAKE), "cmd": "./fake/bin/fake" });
    let agent = |id: &str| json!({ "id": id, "name": id, "version": "1.0.0", "distribution": { "binary": { platform: target } } });
    let document = json!({ "version": "1.0.0", "agents": [agent("fake"), agent("other")] });
    depot.put("/registry.json", document.to_string());
}

#[test]
fn several_agents_are_installed_by_one_command() {
    let depot = Depot::with_fake(&script("1.0.0"));
    two_agents(&depot);
    let machine = Machine::new(&depot.registry());
    let first = machine.run(&["install", "fake", "other"]).done().output;
    assert!(first.starts_with("fake installed\n") && first.contains("\nother installed\n"), "{first}");
    let second = machine.run(&["install", "fake", "other", "--json"]).done().json();
    for agent in ["fake", "other"] {
        assert_eq!(second["installed"][agent]["already_installed"], true, "{second}");
    }
    let partly = machine.run(&["install", "nobody", "fake"]);
    assert_eq!(partly.code, Some(6), "{}", partly.errors);
    assert!(partly.output.contains("fake is already installed"), "{}", partly.output);
    assert!(partly.errors.contains("nobody: there is no agent"), "{}", partly.errors);
    assert!(partly.errors.contains("1 of 2 agents could not be installed"), "{}", partly.errors);
    let versions = machine.run(&["install", "fake", "other", "--agent-process-version", "1.0.0"]);
    assert_eq!(versions.code, Some(2), "{}", versions.errors);
}

#[test]
fn update_installs_what_the_registry_offers_now() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    assert_eq!(machine.run(&["update"]).done().output, "no agents are installed\n");
    machine.run(&["install", "fake"]).done();
    assert_eq!(machine.run(&["update"]).done().output, "fake is up to date: 1.0.0\n");
    assert_eq!(depot.requests(FAKE), 1, "nothing is downloaded when nothing has changed");
    depot.offer("1.1.0", &script("1.1.0"), &json!({}));
    assert_eq!(machine.run(&["update", "fake"]).done().output, "fake updated from 1.0.0 to 1.1.0\n");
    assert_eq!(machine.versions("fake"), ["1.1.0", "current"]);
    depot.offer("1.2.0", &script("1.2.0"), &json!({}));
    let updated = machine.run(&["update", "--json"]).done().json();
    assert_eq!(updated, json!({"agents": {"fake": {"from": "1.1.0", "to": "1.2.0"}}}));
}

#[test]
fn only_installed_agents_can_be_updated() {
    let machine = Machine::new(NO_SERVER);
    for (agent, code, words) in [
        ("gemini", 3, "sandbox-agent install gemini"),
        ("nobody", 3, "there is no agent named"),
        ("mock", 2, "nothing to update"),
    ] {
        let finished = machine.run(&["update", agent]);
        assert_eq!(finished.code, Some(code), "{agent}: {}", finished.errors);
        assert!(finished.errors.contains(words), "{agent}: {}", finished.errors);
    }
}

#[test]
fn an_uninstalled_agent_is_gone() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    machine.run(&["install", "fake"]).done();
    assert_eq!(machine.run(&["uninstall", "fake"]).done().output, "fake 1.0.0 uninstalled\n");
    assert!(!machine.data().join("agents/fake").exists());
    assert_eq!(machine.run(&["agents", "show", "fake"]).done().json()["installed"], false);
    for (agent, code, words) in [
        ("fake", 3, "fake is not installed"),
        ("nobody", 3, "there is no agent named"),
        ("../evil", 3, "not an agent id"),
        ("mock", 2, "cannot be uninstalled"),
    ] {
        let finished = machine.run(&["uninstall", agent]);
        assert_eq!(finished.code, Some(code), "{agent}: {}", finished.errors);
        assert!(finished.errors.contains(words), "{agent}: {}", finished.errors);
    }
    machine.run(&["install", "fake"]).done();
    let both = machine.run(&["uninstall", "nobody", "fake", "--json"]);
    assert_eq!(both.code, Some(6), "{}", both.errors);
    let uninstalled: Value = both.json();
    assert_eq!(uninstalled["uninstalled"][0]["agent"], "fake");
    assert_eq!(uninstalled["uninstalled"][0]["version"], "1.0.0");
}

#[test]
fn an_uninstalled_agent_that_runs_keeps_its_files_until_it_ends() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    hello(&server, "a", "fake").send().expect(200);
    let printed = machine.run(&["uninstall", "fake"]).done().output;
    assert!(printed.contains("1.0.0 is still in use"), "{printed}");
    assert_eq!(machine.versions("fake"), ["1.0.0"]);
    let kept = machine.run(&["prune", "--json"]).done().json();
    assert_eq!(kept["removed"], json!([]));
    assert!(ask(&server, "a", 2, "where").as_str().unwrap().contains("fake/1.0.0"));
    server.request("DELETE", "/v1/acp/a").send().expect(204);
    eventually("the version is deleted", || machine.versions("fake").is_empty().then_some(()));
}

#[test]
fn prune_deletes_what_nothing_needs() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    machine.run(&["install", "fake"]).done();
    let file = |path: &str| {
        let path = machine.data().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "12345").unwrap();
    };
    file("agents/fake/0.9.0/interrupted");
    file("runtimes/node/1.0.0/.install.json");
    let printed = machine.run(&["prune"]).done().output;
    let expected = "deleted agents/fake/0.9.0 (5 B)\ndeleted runtimes/node/1.0.0 (5 B)\nfreed 10 B\n";
    assert_eq!(printed, expected);
    assert_eq!(machine.versions("fake"), ["1.0.0", "current"]);
    assert!(!machine.data().join("runtimes/node/1.0.0").exists());
    assert_eq!(machine.run(&["prune"]).done().output, "freed 0 B\n");
}

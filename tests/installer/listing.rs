//! `GET /v1/agents`: the agents and their state.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::npm::{machine_with, pinned};
use crate::support::{Depot, Machine, NO_SERVER, hello, install, script, show};
use test_harness::rpc::call;
use test_harness::{Server, eventually};

#[track_caller]
fn list(server: &Server) -> Vec<Value> {
    let list = server.request("GET", "/v1/agents").send().expect(200).json();
    list["agents"].as_array().expect("the list has agents").clone()
}

#[test]
fn the_list_has_all_agents_of_the_manifest_and_the_registry_and_the_built_in_ones() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    // The first list is complete: there was no registry document yet, so the answer was awaited.
    let agents = list(&server);
    let ids: Vec<&str> = agents.iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id is listed twice: {ids:?}");
    for id in ["claude", "codex", "opencode", "amp", "gemini", "pi", "mock", "fake"] {
        assert!(ids.contains(&id), "{id} is not in {ids:?}");
    }
    for agent in &agents {
        assert!(agent["name"].as_str().is_some_and(|name| !name.is_empty()), "{agent}");
        assert!(agent["installed"].is_boolean() && agent["credentialsAvailable"].is_boolean(), "{agent}");
        assert_eq!(agent["serverStatus"], json!({"status": "stopped"}));
        assert!(agent["install"]["command"].is_string() && agent["install"]["state"].is_string(), "{agent}");
        let capabilities = agent["capabilities"].as_object().unwrap();
        let unknown: Vec<&str> =
            capabilities.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            unknown,
            ["fileAttachments", "images", "planMode"],
            "only a probe can tell these: {agent}"
        );
        let known = capabilities.values().filter(|value| value.is_boolean()).count();
        assert_eq!(known + unknown.len(), 18, "{agent}");
        // A single agent has the same fields as in the list.
        assert_eq!(show(&server, agent["id"].as_str().unwrap()), *agent);
    }
    let mock = agents.iter().find(|agent| agent["id"] == "mock").unwrap();
    assert_eq!((&mock["installed"], &mock["source"]), (&json!(true), &json!("builtin")));
    assert_eq!(mock["path"], test_harness::server::product().display().to_string());
    assert_eq!(
        (&mock["capabilities"]["questions"], &mock["install"]["state"]),
        (&json!(true), &json!("installed"))
    );
}

#[test]
fn a_registry_that_never_answers_does_not_delay_the_list() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let gate = depot.hold("/registry.json");
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    assert!(list(&server).iter().any(|agent| agent["id"] == "claude"));
    assert_eq!(show(&server, "claude")["id"], "claude");
    eventually("the registry is asked", || (depot.requests("/registry.json") > 0).then_some(()));
    gate.open();
    eventually("its agent is listed", || {
        list(&server).iter().any(|agent| agent["id"] == "fake").then_some(())
    });
}

#[test]
fn custom_agents_from_the_command_line_and_the_config_file_are_listed_and_start() {
    let machine = Machine::new(NO_SERVER);
    let first = machine.program("first", &script("1"));
    let second = machine.program("second", &script("2"));
    let config = format!(
        "[agents.from-file]\ncommand = '{0}'\n[agents.both]\ncommand = '{0}'\n[agents.absent]\ncommand = '/no/such/program'\n",
        first.display()
    );
    let file = machine.folder().join("config.toml");
    std::fs::write(&file, config).unwrap();
    let server = machine
        .server()
        .flag("--config", file.to_str().unwrap())
        .flag("--agent", &format!("from-flag='{}'", first.display()))
        .flag("--agent", &format!("both='{}'", second.display()))
        // The user may redefine a name of the manifest.
        .flag("--agent", &format!("claude='{}'", second.display()))
        .start();
    let agents = list(&server);
    let named = |id: &str| agents.iter().find(|agent| agent["id"] == id).unwrap();
    for (id, program, version) in [
        ("from-file", &first, "1"),
        ("from-flag", &first, "1"),
        ("both", &second, "2"),
        ("claude", &second, "2"),
    ] {
        let agent = named(id);
        assert_eq!((&agent["source"], &agent["installed"]), (&json!("custom"), &json!(true)), "{id}");
        assert_eq!(agent["path"], program.to_str().unwrap(), "{id}");
        let answer = hello(&server, id, id).send().expect(200).json();
        assert_eq!(answer["result"]["agentInfo"]["version"], version, "{id}");
    }
    let absent = named("absent");
    assert_eq!((&absent["source"], &absent["installed"]), (&json!("custom"), &json!(false)));
    hello(&server, "absent", "absent").send().problem(502, "spawn_failed");
}

#[test]
fn credentials_are_reported_as_available_without_their_values() {
    let value = "the-secret-value-of-a-key";
    let bare = ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"];
    let machine = bare.iter().fold(Machine::new(NO_SERVER), |machine, name| machine.with(name, ""));
    let server = machine.start();
    assert_eq!(show(&server, "gemini")["credentialsAvailable"], false);
    let machine = machine.with("GEMINI_API_KEY", value);
    let server = machine.start();
    assert_eq!(show(&server, "gemini")["credentialsAvailable"], true);
    let machine = machine.with("GEMINI_API_KEY", "");
    let file = machine.folder().join("home/.gemini/oauth_creds.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!(r#"{{"token":"{value}"}}"#)).unwrap();
    let by_file = machine.start();
    assert_eq!(show(&by_file, "gemini")["credentialsAvailable"], true);
    for server in [&server, &by_file] {
        for target in
            ["/v1/agents", "/v1/agents?config=true", "/v1/agents/gemini", "/v1/agents/gemini?config=true"]
        {
            let answer = server.request("GET", target).send().expect(200);
            assert!(!answer.text().contains(value), "{target} contains a credential");
        }
        assert!(!server.log().contains(value), "the log contains a credential");
    }
    assert!(!machine.run(&["agents", "show", "gemini", "--json"]).done().output.contains(value));
}

#[test]
fn an_agent_is_running_as_long_as_one_of_its_instances_is() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    install(&server, "fake", &json!({})).send().expect(200);
    assert_eq!(show(&server, "fake")["serverStatus"], json!({"status": "stopped"}));
    hello(&server, "a", "fake").send().expect(200);
    hello(&server, "b", "fake").send().expect(200);
    server.delete("a").send().expect(204);
    let status = show(&server, "fake")["serverStatus"].clone();
    assert_eq!(status["status"], "running");
    assert!(status["uptimeMs"].is_u64(), "{status}");
    server.delete("b").send().expect(204);
    assert_eq!(show(&server, "fake")["serverStatus"], json!({"status": "stopped"}));
}

#[test]
fn an_agent_may_be_named_by_its_registry_id() {
    let (package, version) = pinned("copilot");
    let (_depot, machine) = machine_with(&package, &[&version], &json!({}));
    let server = machine.start();
    assert_eq!(show(&server, "github-copilot-cli")["id"], "copilot");
    hello(&server, "a", "github-copilot-cli").send().expect(200);
    let copilot = show(&server, "copilot");
    assert_eq!(
        (&copilot["installed"], &copilot["serverStatus"]["status"]),
        (&json!(true), &json!("running"))
    );
    assert_eq!(machine.versions("copilot"), [version.as_str(), "current"]);
    // For a running instance both names mean the same agent; another agent is refused.
    for name in ["copilot", "github-copilot-cli"] {
        server.post("a", call(name, "initialize", json!({}))).query("agent", name).send().expect(200);
    }
    server
        .post("a", call(9, "initialize", json!({})))
        .query("agent", "mock")
        .send()
        .problem(409, "agent_mismatch");
}

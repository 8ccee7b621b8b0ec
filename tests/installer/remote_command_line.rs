//! `sandbox-agent api v1 agents`: the command line with a remote server.

use serde_json::json;

use crate::support::npm::{machine_with_gemini, pinned_gemini};
use crate::support::{Depot, Machine, NO_SERVER, script};
use test_harness::Server;

/// Another machine, which knows only the server's address and token.
fn client_of(server: &Server, token: &str) -> Machine {
    Machine::new(NO_SERVER)
        .with("SANDBOX_AGENT_URL", &format!("http://127.0.0.1:{}/", server.port))
        .with("SANDBOX_AGENT_TOKEN", token)
}

#[test]
fn an_agent_is_installed_on_the_server_in_the_requested_version() {
    let (_, pinned) = pinned_gemini();
    let (_depot, machine) = machine_with_gemini(&["0.50.0", &pinned], &json!({}));
    let server = machine.server().env("SANDBOX_AGENT_TOKEN", "open-sesame").start();
    let client = client_of(&server, "open-sesame");
    let api = |arguments: &[&str]| client.run(&[&["api", "v1", "agents"], arguments].concat());
    let first = api(&["install", "gemini"]).done().json();
    assert_eq!(
        (&first["already_installed"], &first["artifacts"][0]["version"]),
        (&json!(false), &json!(pinned))
    );
    let wanted = ["install", "gemini", "--reinstall", "--agent-process-version", "0.50.0"];
    for _ in 0..2 {
        let again = api(&wanted).done().json();
        assert_eq!(
            (&again["already_installed"], &again["artifacts"][0]["version"]),
            (&json!(false), &json!("0.50.0"))
        );
    }
    assert_eq!(
        api(&["install", "gemini", "--agent-version", "0.50.0"]).done().json()["already_installed"],
        true
    );
    let shown = api(&["show", "gemini"]).done().json();
    assert_eq!((&shown["version"], &shown["source"]), (&json!("0.50.0"), &json!("fallback")));
    let list = api(&["list"]).done().json();
    assert!(list["agents"].as_array().unwrap().contains(&shown));
    assert!(api(&["show", "mock", "--config"]).done().json()["configOptions"].is_array());
    assert!(!client.data().exists(), "the agent was installed on the client");
}

#[test]
fn a_refusal_of_the_server_is_reported_with_its_reason() {
    let depot = Depot::with_fake(&script("1.0.0"));
    depot.remove(crate::support::depot::FAKE);
    let machine = Machine::new(&depot.registry());
    let server = machine.server().env("SANDBOX_AGENT_TOKEN", "open-sesame").start();
    let printed = client_of(&server, "open-sesame").run(&["api", "v1", "agents", "install", "fake"]).failed();
    assert!(printed.contains("502") && printed.contains("download"), "{printed}");
    let printed = client_of(&server, "open-sesame").run(&["api", "v1", "agents", "show", "a/b"]).failed();
    assert!(printed.contains("404") && printed.contains("a/b"), "{printed}");
    let printed = client_of(&server, "wrong").run(&["api", "v1", "agents", "list"]).failed();
    assert!(printed.contains("401"), "{printed}");
    let address = format!("http://127.0.0.1:{}", server.port);
    drop(server);
    let printed = machine.run(&["api", "--url", &address, "v1", "agents", "list"]).failed();
    assert!(printed.contains(&address) && printed.contains("sandbox-agent server"), "{printed}");
}

//! The first POST installs a missing agent, then starts it, then forwards the message.

use serde_json::json;

use crate::support::depot::FAKE;
use crate::support::npm::{machine_with_gemini, pinned_gemini};
use crate::support::{Depot, Machine, ask, hello, install, script, show};
use test_harness::rpc::call;
use test_harness::{Request, eventually};

#[test]
fn the_first_post_installs_the_agent_from_the_registry_and_gets_the_agents_answer() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let before = show(&server, "fake");
    assert_eq!((&before["installed"], &before["install"]["state"]), (&json!(false), &json!("not_installed")));
    assert_eq!(before["install"]["command"], "sandbox-agent install fake");

    let answer = hello(&server, "a", "fake").send().expect(200).json();
    assert_eq!(answer["result"]["agentInfo"], json!({"name": "fake", "version": "1.0.0"}));
    let after = show(&server, "fake");
    assert_eq!((&after["installed"], &after["install"]["state"]), (&json!(true), &json!("installed")));
    assert_eq!((&after["version"], &after["source"]), (&json!("1.0.0"), &json!("registry")));
    assert_eq!((&after["verified"], &after["serverStatus"]["status"]), (&json!("ok"), &json!("running")));
    let path = after["path"].as_str().unwrap();
    assert!(path.starts_with(machine.data().to_str().unwrap()), "{path}");
    assert!(ask(&server, "a", 2, "where").as_str().unwrap().starts_with(path));
    // The second client finds the agent installed.
    hello(&server, "b", "fake").send().expect(200);
    assert_eq!(depot.requests(FAKE), 1);
}

#[test]
fn with_the_registry_down_the_pinned_fallback_is_installed_and_reported_as_the_source() {
    let (_, version) = pinned_gemini();
    let (_depot, machine) = machine_with_gemini(&[&version], &json!({}));
    let server = machine.start();
    let answer = hello(&server, "a", "gemini").send().expect(200).json();
    assert_eq!(answer["result"]["agentInfo"]["version"], version);
    let gemini = show(&server, "gemini");
    assert_eq!((&gemini["source"], &gemini["version"]), (&json!("fallback"), &json!(version)));
    let artifact = &install(&server, "gemini", &json!({})).send().expect(200).json()["artifacts"][0];
    assert_eq!((&artifact["source"], &artifact["kind"]), (&json!("fallback"), &json!("agent_process")));
}

#[test]
fn readers_that_attach_during_the_install_get_the_answers() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let gate = depot.hold(FAKE);
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let first = hello(&server, "a", "fake").start();
    depot.wait_for_download();
    let mut readers = [server.stream("a"), server.stream("a")];
    let second = server.post("a", call(2, "where", json!({}))).start();
    server.wait_for("a", "both wait", |summary| summary["pendingRequests"] == 2);
    gate.open();
    for reader in &mut readers {
        assert!(reader.next().answers(&json!(1)));
        assert!(reader.next().answers(&json!(2)));
    }
    first.join().unwrap().expect(200);
    second.join().unwrap().expect(200);
}

#[test]
fn a_running_install_reports_its_step_and_its_duration() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let gate = depot.hold(FAKE);
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let first = hello(&server, "a", "fake").start();
    let under_way = || Some(show(&server, "fake")).filter(|fake| fake["install"]["step"] == "download");
    let early = eventually("the download is reported", under_way);
    assert_eq!((&early["install"]["state"], &early["installed"]), (&json!("installing"), &json!(false)));
    assert_eq!(early["serverStatus"]["status"], "stopped");
    let elapsed = early["install"]["elapsedMs"].as_u64().expect("a number of milliseconds");
    eventually("the elapsed time grows", || {
        (under_way()?["install"]["elapsedMs"].as_u64()? > elapsed).then_some(())
    });
    // The list has the same.
    let list = server.request("GET", "/v1/agents").send().expect(200).json();
    let listed = list["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "fake").unwrap();
    assert_eq!(listed["install"]["state"], "installing");
    gate.open();
    first.join().unwrap().expect(200);
    let done = show(&server, "fake");
    assert_eq!((&done["install"]["state"], &done["install"]["step"]), (&json!("installed"), &json!(null)));
    let log = server.log();
    for step in ["resolve_source", "download", "unpack", "verify", "activate"] {
        assert!(log.contains(&format!("step={step}")), "`{step}` is not in the log:\n{log}");
    }
}

#[test]
fn without_installs_on_first_use_the_first_post_is_409_until_the_agent_is_installed() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    for how in [Preinstall::Flag, Preinstall::Variable, Preinstall::ConfigFile] {
        let server = match how {
            Preinstall::Flag => machine.server().switch("--require-preinstall").start(),
            Preinstall::Variable => machine.server().env("SANDBOX_AGENT_REQUIRE_PREINSTALL", "true").start(),
            Preinstall::ConfigFile => {
                let file = machine.folder().join("config.toml");
                std::fs::write(&file, "require_preinstall = true\n").unwrap();
                machine.server().flag("--config", file.to_str().unwrap()).start()
            }
        };
        let problem = hello(&server, "a", "fake").send().problem(409, "agent_not_installed");
        assert_eq!(problem["agent"], "fake", "{how:?}");
        assert!(problem["detail"].as_str().unwrap().contains("sandbox-agent install fake"), "{problem}");
        assert_eq!(server.summary("a"), None, "{how:?}");
    }
    assert_eq!(depot.requests(FAKE), 0);
    let server = machine.server().switch("--require-preinstall").start();
    let installed = install(&server, "fake", &json!({})).send().expect(200).json();
    assert_eq!(installed["already_installed"], false);
    hello(&server, "a", "fake").send().expect(200);
    // The built-in agent needs no install.
    hello(&server, "b", "mock").send().expect(200);
}

#[derive(Debug, Clone, Copy)]
enum Preinstall {
    Flag,
    Variable,
    ConfigFile,
}

#[test]
fn an_unknown_agent_is_400_in_a_post_and_404_in_a_path() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    for name in ["nobody", "..%2Ffake", "%F0%9F%A6%80"] {
        hello(&server, "a", name).send().problem(400, "unknown_agent");
        let not_found = |request: Request| {
            let problem = request.send().problem(404, "agent_not_found");
            assert!(problem["detail"].as_str().unwrap().contains("GET /v1/agents"), "{problem}");
        };
        not_found(server.request("GET", &format!("/v1/agents/{name}")));
        not_found(server.request("GET", &format!("/v1/agents/{name}?config=true")));
        not_found(install(&server, name, &json!({})));
    }
    server.request("GET", "/v1/agents/%FF").send().problem(404, "agent_not_found");
    assert_eq!(server.summary("a"), None);
    assert_eq!(machine.versions("nobody"), Vec::<String>::new());
}

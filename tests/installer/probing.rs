//! `?config=true`: models, modes and options, which the agent is asked for once.

use std::path::Path;

use serde_json::json;

use crate::support::agent::script_after;
use crate::support::depot::FAKE;
use crate::support::{Depot, Machine, NO_SERVER, install, script, show};
use test_harness::Server;

#[track_caller]
fn probe(server: &Server, agent: &str) -> serde_json::Value {
    server.request("GET", &format!("/v1/agents/{agent}?config=true")).send().expect(200).json()
}

/// A script that adds a line to a file whenever it is started.
fn counted(file: &Path) -> String {
    script_after(&format!("echo started >> '{}'", file.display()), "1.0.0")
}

fn starts(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

#[test]
fn the_mock_agent_reports_its_models_modes_and_options_when_probed() {
    let machine = Machine::new(NO_SERVER);
    let server = machine.start();
    let before = show(&server, "mock");
    for field in ["models", "modes", "configOptions"] {
        assert!(before.get(field).is_none(), "{field} is present without a probe: {before}");
    }
    let mock = probe(&server, "mock");
    assert!(mock["configError"].is_null(), "{mock}");
    let options = mock["configOptions"].as_array().expect("options");
    let model = options.iter().find(|option| option["category"] == "model").expect("an option for the model");
    assert!(!model["options"].as_array().expect("models to choose from").is_empty(), "{model}");
    assert!(mock["models"].is_object() && mock["modes"].is_object(), "{mock}");
    assert_eq!(show(&server, "mock"), mock, "a known result must be returned without another probe");
    assert_eq!(server.process.descendants(), [], "the probe's process must be gone");
}

#[test]
fn a_second_probe_is_answered_without_another_process() {
    let machine = Machine::new(NO_SERVER);
    let log = machine.folder().join("starts");
    let program = machine.program("mine", &counted(&log));
    let server = machine.server().flag("--agent", &format!("mine='{}'", program.display())).start();
    let first = probe(&server, "mine");
    assert_eq!(first["modes"]["currentModeId"], "plan");
    assert_eq!(
        (&first["capabilities"]["images"], &first["capabilities"]["planMode"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(probe(&server, "mine"), first);
    let together: Vec<_> =
        (0..5).map(|_| server.request("GET", "/v1/agents/mine?config=true").start()).collect();
    for one in together {
        assert_eq!(one.join().unwrap().expect(200).json(), first);
    }
    server.request("GET", "/v1/agents").send().expect(200);
    assert_eq!(starts(&log), 1);
}

#[test]
fn a_probe_result_survives_the_server_but_not_the_version() {
    let machine = Machine::new(NO_SERVER);
    let log = machine.folder().join("starts");
    let depot = Depot::with_fake(&counted(&log));
    let machine = machine.with("SANDBOX_AGENT_ACP_REGISTRY_URL", &depot.registry());
    let server = machine.start();
    install(&server, "fake", &json!({})).send().expect(200);
    assert_eq!(starts(&log), 1, "expected one start, to verify the install");
    assert_eq!(probe(&server, "fake")["modes"]["currentModeId"], "plan");
    assert_eq!(starts(&log), 2);
    drop(server);
    let server = machine.start();
    assert_eq!(show(&server, "fake")["modes"]["currentModeId"], "plan");
    assert_eq!(probe(&server, "fake")["modes"]["currentModeId"], "plan");
    assert_eq!(starts(&log), 2);
    install(&server, "fake", &json!({"reinstall": true})).send().expect(200);
    assert!(show(&server, "fake")["modes"].is_null(), "the new version was not probed yet");
    probe(&server, "fake");
    assert_eq!(starts(&log), 4);
}

#[test]
fn a_probe_installs_nothing() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let fake = probe(&server, "fake");
    assert_eq!((&fake["installed"], &fake["modes"]), (&json!(false), &json!(null)));
    assert_eq!(depot.requests(FAKE), 0);
}

#[test]
fn an_agent_that_cannot_be_probed_is_listed_with_the_reason() {
    let machine = Machine::new(NO_SERVER);
    let broken = machine.program("broken", "#!/bin/sh\necho 'no such model' >&2\nexit 3\n");
    let server = machine.server().flag("--agent", &format!("broken='{}'", broken.display())).start();
    let shown = probe(&server, "broken");
    assert!(shown["configError"].as_str().unwrap().contains("exit code 3"), "{shown}");
    let list = server.request("GET", "/v1/agents?config=true").send().expect(200).json();
    let named =
        |id: &str| list["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == id).unwrap().clone();
    assert!(named("broken")["configError"].is_string());
    assert!(named("mock")["configOptions"].is_array());
    assert!(named("gemini")["configError"].is_null(), "an agent that is not installed must not be probed");
    server.request("GET", "/v1/agents/mock?config=maybe").send().problem(400, "invalid_parameter");
}

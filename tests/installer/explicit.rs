//! `POST /v1/agents/{agent}/install`.

use serde_json::json;

use crate::support::depot::FAKE;
use crate::support::npm::machine_with_gemini;
use crate::support::{Depot, Machine, NO_SERVER, hello, install, script, show};

#[test]
fn a_second_install_reports_already_installed_and_downloads_nothing() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let first = install(&server, "fake", &json!({})).send().expect(200).json();
    assert_eq!(first["already_installed"], false);
    let artifacts = first["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 1);
    assert_eq!(
        (&artifacts[0]["kind"], &artifacts[0]["version"], &artifacts[0]["source"]),
        (&json!("agent_process"), &json!("1.0.0"), &json!("registry"))
    );
    assert!(std::path::Path::new(artifacts[0]["path"].as_str().unwrap()).exists());
    // The same without a body.
    let second = server.request("POST", "/v1/agents/fake/install").send().expect(200).json();
    assert_eq!((&second["already_installed"], &second["artifacts"]), (&json!(true), &first["artifacts"]));
    assert_eq!(depot.requests(FAKE), 1);
}

#[test]
fn an_explicit_install_asks_the_registry_again() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    install(&server, "fake", &json!({})).send().expect(200);
    // The new version was published a moment ago.
    depot.offer("1.1.0", &script("1.1.0"), &json!({}));
    let asked = install(&server, "fake", &json!({"agentProcessVersion": "1.1.0"})).send().expect(200).json();
    assert_eq!(asked["artifacts"][0]["version"], "1.1.0");
    depot.offer("1.2.0", &script("1.2.0"), &json!({}));
    let again = install(&server, "fake", &json!({"reinstall": true})).send().expect(200).json();
    assert_eq!(again["artifacts"][0]["version"], "1.2.0");
}

#[test]
fn the_requested_version_is_installed_and_runs() {
    let (_depot, machine) = machine_with_gemini(&["0.50.0", "0.51.0"], &json!({}));
    let server = machine.start();
    let pin = |version: &str| install(&server, "gemini", &json!({"agentProcessVersion": version}));
    let old = pin("0.50.0").send().expect(200).json();
    assert_eq!(
        (&old["already_installed"], &old["artifacts"][0]["version"]),
        (&json!(false), &json!("0.50.0"))
    );
    assert_eq!(pin("0.50.0").send().expect(200).json()["already_installed"], true);
    let answer = hello(&server, "a", "gemini").send().expect(200).json();
    assert_eq!(answer["result"]["agentInfo"]["version"], "0.50.0");
    // Another version is another install; without a version, any installed one satisfies the request.
    assert_eq!(pin("0.51.0").send().expect(200).json()["already_installed"], false);
    assert_eq!(show(&server, "gemini")["version"], "0.51.0");
    let any = install(&server, "gemini", &json!({})).send().expect(200).json();
    assert_eq!(
        (&any["already_installed"], &any["artifacts"][0]["version"]),
        (&json!(true), &json!("0.51.0"))
    );
    // This agent has no separate process, so either field may name its version.
    let native = install(&server, "gemini", &json!({"agentVersion": "0.50.0"})).send().expect(200).json();
    assert_eq!(native["artifacts"][0]["version"], "0.50.0");
}

#[test]
fn an_unavailable_version_is_refused_with_the_reason_and_changes_nothing() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    install(&server, "fake", &json!({})).send().expect(200);
    for version in ["9.9.9", "../../evil", "file:/etc"] {
        let wanted = json!({"agentProcessVersion": version});
        let problem = install(&server, "fake", &wanted).send().problem(400, "version_unavailable");
        assert!(problem["detail"].as_str().unwrap().contains(version), "{problem}");
    }
    assert_eq!(show(&server, "fake")["version"], "1.0.0");
    hello(&server, "a", "fake").send().expect(200);
}

#[test]
fn agents_that_need_no_install_report_their_source() {
    let machine = Machine::new(NO_SERVER);
    let program = machine.program("mine", &script("7"));
    let server = machine.server().flag("--agent", &format!("mine='{}' --x", program.display())).start();
    let mine = install(&server, "mine", &json!({"reinstall": true})).send().expect(200).json();
    assert_eq!(
        (&mine["already_installed"], &mine["artifacts"][0]["source"]),
        (&json!(true), &json!("custom"))
    );
    assert_eq!(mine["artifacts"][0]["path"], program.to_str().unwrap());
    let mock = install(&server, "mock", &json!({})).send().expect(200).json();
    assert_eq!(
        (&mock["already_installed"], &mock["artifacts"][0]["source"]),
        (&json!(true), &json!("builtin"))
    );
    assert!(!machine.data().join("agents").exists());
}

#[test]
fn an_invalid_install_request_is_refused_before_anything_happens() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let post = |body: &str| server.request("POST", "/v1/agents/fake/install").body(body);
    for body in ["{", "[]", "7", r#"{"reinstall":"yes"}"#, r#"{"agentVersion":1}"#] {
        post(body).send().problem(400, "invalid_json");
    }
    post("{}").header("Content-Type", "text/plain").send().problem(415, "unsupported_media_type");
    post(&format!(r#"{{"agentVersion":"{}"}}"#, "1".repeat(70_000))).send().problem(413, "payload_too_large");
    server.request("GET", "/v1/agents/fake/install").send().problem(405, "method_not_allowed");
    server.request("POST", "/v1/agents/fake").send().problem(405, "method_not_allowed");
    assert_eq!(depot.requests(FAKE), 0);
    // Unknown fields may come from a newer client.
    post(r#"{"reinstall":null,"later":true}"#).send().expect(200);
}

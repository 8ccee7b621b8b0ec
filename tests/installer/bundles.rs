//! Lock files and bundles: agents for machines without a network.

use serde_json::json;

use crate::support::{Depot, Machine, NO_SERVER, ask, hello, install, script, show};

#[test]
fn a_bundle_serves_on_another_machine_without_network_and_installs() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let origin = Machine::new(&depot.registry());
    origin.run(&["install", "fake"]).done();
    let bundle = origin.folder().join("agents.tar.zst");
    let file = bundle.to_str().unwrap();
    let packed = origin.run(&["agents", "bundle", "fake", "-o", file, "--json"]).done().json();
    assert_eq!(packed["agents"][0]["id"], "fake");

    let closed = Machine::new(NO_SERVER).without_runtimes();
    let carried = closed.folder().join("carried.tar.zst");
    std::fs::copy(&bundle, &carried).unwrap();
    drop(origin);
    let server = closed.server().switch("--require-preinstall").start();
    hello(&server, "a", "fake").send().problem(400, "unknown_agent");
    let restored = closed.run(&["agents", "unbundle", carried.to_str().unwrap()]).done().output;
    assert!(restored.starts_with("restored fake: "), "{restored}");
    let answer = hello(&server, "a", "fake").send().expect(200).json();
    assert_eq!(answer["result"]["agentInfo"]["version"], "1.0.0");
    let path = ask(&server, "a", 2, "where");
    assert!(path.as_str().unwrap().starts_with(closed.data().to_str().unwrap()), "{path}");
    let fake = show(&server, "fake");
    assert_eq!((&fake["source"], &fake["verified"]), (&json!("registry"), &json!("ok")));
    assert_eq!(install(&server, "fake", &json!({})).send().expect(200).json()["already_installed"], true);
    assert_eq!(depot.requests(crate::support::depot::FAKE), 1);
}

#[test]
fn a_modified_bundle_is_refused_and_leaves_nothing() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    machine.run(&["install", "fake"]).done();
    machine.run(&["agents", "bundle", "fake", "-o", "bundle"]).done();
    let mut bytes = std::fs::read(machine.folder().join("bundle")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let other = Machine::new(NO_SERVER);
    std::fs::write(other.folder().join("bundle"), bytes).unwrap();
    let printed = other.run(&["agents", "unbundle", "bundle"]).failed();
    assert!(printed.contains("bundle"), "{printed}");
    assert_eq!(other.versions("fake"), Vec::<String>::new());
    let printed = other.run(&["agents", "unbundle", "not-there"]).failed();
    assert!(printed.contains("not-there"), "{printed}");
    let printed = other.run(&["agents", "bundle", "claude", "-o", "empty"]).failed();
    assert!(printed.contains("sandbox-agent install claude"), "{printed}");
    assert!(!other.folder().join("empty").exists());
}

#[test]
fn the_lock_file_lists_the_installed_agents_and_is_the_same_after_a_move() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    machine.run(&["install", "fake"]).done();
    let printed = machine.run(&["agents", "lock"]).done().output;
    assert_eq!(printed, "wrote agents.lock\n");
    let text = std::fs::read_to_string(machine.folder().join("agents.lock")).unwrap();
    let lock: toml::Table = toml::from_str(&text).unwrap();
    let fake = &lock["agents"]["fake"];
    assert_eq!(fake["version"].as_str(), Some("1.0.0"), "{text}");
    let checksum = fake["sha256"].as_str().unwrap();
    assert_eq!(checksum.len(), 64, "{text}");
    machine.run(&["agents", "bundle", "fake", "-o", "bundle"]).done();
    let other = Machine::new(NO_SERVER);
    std::fs::copy(machine.folder().join("bundle"), other.folder().join("bundle")).unwrap();
    other.run(&["agents", "unbundle", "bundle"]).done();
    let moved = other.run(&["agents", "lock", "--output", "other.lock", "--json"]).done().json();
    assert_eq!(moved["agents"]["fake"]["sha256"], checksum);
    assert_eq!(std::fs::read_to_string(other.folder().join("other.lock")).unwrap(), text);
}

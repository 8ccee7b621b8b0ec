//! Fuzzes the ACP registry's document, the manifest and the names of packages: every accepted value is safe
//! to use in a path, and keeps its meaning.

#![no_main]

use agent_catalog::fuzzing::{parse_manifest, parse_registry, short_name};
use agent_catalog::{AgentId, Distribution, PackageName};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    registry(data);
    if let Ok(text) = std::str::from_utf8(data) {
        manifest(text);
        package(text, &PackageName::npm(text), "@");
        package(text, &PackageName::python(text), "==");
    }
});

fn registry(data: &[u8]) {
    let Ok(document) = parse_registry(data) else { return };
    for agent in document.agents() {
        is_one_path_component(&agent.id);
        let found = document.find(agent.id.as_str()).expect("every agent is found by its id");
        assert_eq!(found.id, agent.id);
        keeps_its_meaning(&agent.distribution);
    }
}

fn manifest(text: &str) {
    let Ok(manifest) = parse_manifest(text) else { return };
    for agent in manifest.agents() {
        is_one_path_component(&agent.id);
        assert!(manifest.find(agent.id.as_str()).is_some());
        if let Some(fallback) = &agent.fallback {
            keeps_its_meaning(&fallback.distribution);
        }
    }
}

/// Asserts that an id is safe as the name of a directory.
fn is_one_path_component(id: &AgentId) {
    let text = id.as_str();
    assert!(!text.is_empty() && text.len() <= AgentId::MAX_LENGTH && !text.starts_with('.'), "{text:?}");
    assert!(text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'), "{text:?}");
}

fn keeps_its_meaning(distribution: &Distribution) {
    let text = serde_json::to_string(distribution).expect("it can be written");
    let read: Distribution = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(&read, distribution);
}

fn package(text: &str, package: &PackageName, separator: &str) {
    assert!(text.contains(package.name()), "{text:?}");
    if let Some(version) = package.version() {
        assert!(!version.is_empty() && version != "latest", "{text:?} pins nothing");
        assert!(text.contains(version) && (text.contains(separator) || text.contains('@')), "{text:?}");
    }
    let short = short_name(package);
    assert!(!short.contains(['/', '[']), "{text:?}: {short:?} becomes the name of a command");
}

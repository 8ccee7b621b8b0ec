//! Bundles are restored completely or refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::{Path, PathBuf};

use agent_catalog::{AgentsLock, ArtifactKind};
use serde_json::json;
use support::server::{Answer, Server};
use support::{Fixture, NO_REGISTRY, fake_agent, registry_of, sha256, tar_gz};

/// A catalog with `fake` installed, and its bundle.
async fn bundled() -> (Fixture, PathBuf, Vec<u8>) {
    let server = Server::start().await;
    let agent = fake_agent("1.0.0");
    let archive = tar_gz(&[("bin/fake", 0o755, agent.as_bytes()), ("share/data", 0o644, b"data")]);
    server.set("/fake.tar.gz", Answer::body(archive.clone()));
    let target = json!({ "archive": server.url("/fake.tar.gz"), "cmd": "bin/fake" });
    server.set("/registry.json", Answer::body(registry_of("fake", "1.0.0", &target)));
    let fixture = Fixture::new(&server.url("/registry.json"));
    fixture.catalog.launch("fake").await.unwrap();
    let file = fixture.folder.path().join("bundle.tar.zst");
    fixture.catalog.bundle(&["fake".to_owned()], &file).await.unwrap();
    (fixture, file, archive)
}

/// Unpacks a bundle, changes it, and packs it again.
fn tampered(bundle: &Path, change: impl Fn(&str, Vec<u8>) -> Option<(String, Vec<u8>)>) -> PathBuf {
    use std::io::Read;
    let mut archive = tar::Archive::new(zstd::Decoder::new(std::fs::File::open(bundle).unwrap()).unwrap());
    let mut files = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        files.extend(change(&name, content));
    }
    let files: Vec<(&str, u32, &[u8])> =
        files.iter().map(|(name, content)| (name.as_str(), 0o755, content.as_slice())).collect();
    let encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    let path = bundle.with_extension("tampered");
    std::fs::write(&path, support::tar(&files, encoder).finish().unwrap()).unwrap();
    path
}

#[tokio::test]
async fn a_bundle_restores_to_another_path_without_network() {
    let (fixture, file, _) = bundled().await;
    let elsewhere = Fixture::new(NO_REGISTRY);
    let restored = elsewhere.catalog.unbundle(&file).await.unwrap();
    assert_eq!(restored.agents[0].id.as_str(), "fake");
    // Remove the original: only the restored copy is left.
    std::fs::remove_dir_all(fixture.data()).unwrap();
    let command = elsewhere.catalog.launch("fake").await.unwrap();
    assert!(command.program.starts_with(elsewhere.data()));
    assert_eq!(elsewhere.catalog.probe("fake").await.unwrap().agent_info["version"], "1.0.0");
    // Restore once more while an instance holds the version.
    elsewhere.catalog.unbundle(&file).await.unwrap();
    assert_eq!(elsewhere.names("fake"), ["1.0.0", "1.0.0+2", "current"]);
    assert!(command.program.exists());
    assert!(elsewhere.catalog.launch("fake").await.unwrap().program.ends_with("1.0.0+2/bin/fake"));
    assert!(support::names(&elsewhere.data()).iter().all(|name| !name.starts_with('.')));
}

#[tokio::test]
async fn a_changed_missing_or_added_file_is_refused_and_changes_nothing() {
    let (_world, file, _) = bundled().await;
    let is_data = |name: &str| name.ends_with("share/data");
    let changed = tampered(&file, |name, content| {
        Some((name.to_owned(), if is_data(name) { b"other".to_vec() } else { content }))
    });
    let elsewhere = Fixture::new(NO_REGISTRY);
    let error = elsewhere.catalog.unbundle(&changed).await.unwrap_err();
    assert!(error.code() == "bundle_invalid" && error.to_string().contains("wrong checksum"), "{error}");
    let missing = tampered(&file, |name, content| (!is_data(name)).then(|| (name.to_owned(), content)));
    let error = elsewhere.catalog.unbundle(&missing).await.unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    let renamed = tampered(&file, |name, content| {
        let name = if is_data(name) { "../../escaped".to_owned() } else { name.to_owned() };
        Some((name, content))
    });
    let error = elsewhere.catalog.unbundle(&renamed).await.unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
    let mut cut = std::fs::read(&file).unwrap();
    cut.truncate(cut.len() / 2);
    let short = file.with_extension("short");
    std::fs::write(&short, cut).unwrap();
    assert_eq!(elsewhere.catalog.unbundle(&short).await.unwrap_err().code(), "bundle_invalid");
    assert_eq!(support::names(&elsewhere.data()), Vec::<String>::new());
    assert!(!elsewhere.catalog.is_known("fake").await);
}

#[tokio::test]
async fn a_bundle_of_something_not_installed_is_refused() {
    let fixture = Fixture::new(NO_REGISTRY);
    let file = fixture.folder.path().join("x.tar.zst");
    let error = fixture.catalog.bundle(&["claude".to_owned()], &file).await.unwrap_err();
    assert_eq!(error.code(), "agent_not_installed");
    assert!(!file.exists());
}

#[tokio::test]
async fn the_lock_file_names_versions_sources_and_checksums() {
    let (fixture, _, archive) = bundled().await;
    let file = fixture.folder.path().join("agents.lock");
    let written = fixture.catalog.write_lock(&file).await.unwrap();
    let read: AgentsLock = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(read, written);
    let fake = &read.agents[&"fake".parse().unwrap()];
    assert_eq!((fake.version.as_str(), fake.artifacts[0].kind), ("1.0.0", ArtifactKind::AgentProcess));
    assert_eq!(fake.artifacts[0].sha256.as_deref(), Some(sha256(&archive).as_str()));
    assert!(fake.artifacts[0].origin.ends_with("/fake.tar.gz"));
    std::fs::write(fixture.data().join("agents/fake/1.0.0/share/data"), "changed").unwrap();
    let changed = fixture.catalog.lock().await.unwrap();
    assert_ne!(changed.agents[&"fake".parse().unwrap()].sha256, fake.sha256);
}

//! The ACP registry is downloaded, cached and revalidated, and its failure never fails an install with a fallback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;

use agent_catalog::{InstallRequest, Source};
use serde_json::json;
use support::packages::Package;
use support::server::{Answer, Server};
use support::{Fixture, NO_REGISTRY, catalog_in, fake_agent, registry_of, tar_gz};

/// A server with a registry that offers `fake` as an archive.
async fn server_with_fake() -> Server {
    let server = Server::start().await;
    let archive = tar_gz(&[("fake", 0o755, fake_agent("1.0.0").as_bytes())]);
    server.set("/fake.tar.gz", Answer::body(archive));
    let target = json!({ "archive": server.url("/fake.tar.gz"), "cmd": "./fake" });
    server.set("/registry.json", Answer::tagged(registry_of("fake", "1.0.0", &target), "\"one\""));
    server
}

/// A fake npm registry with the versions that the manifest pins for `pi`.
async fn npm_with_pi() -> Server {
    let server = Server::start().await;
    for (name, version) in [("pi-acp", "0.0.34"), ("@earendil-works/pi-coding-agent", "0.87.1")] {
        Package { name, version, engine: ">=18" }.publish(&server);
    }
    server
}

async fn sources_of_pi(registry_url: &str) -> Vec<Source> {
    let npm = npm_with_pi().await;
    let fixture = Fixture::with(registry_url, |options| options.npm_registry = Some(npm.url("")));
    let outcome = fixture.catalog.install("pi", InstallRequest::default()).await.unwrap();
    outcome.artifacts.iter().map(|artifact| artifact.source).collect()
}

#[tokio::test]
async fn a_registry_only_agent_installs_with_the_registry_as_its_source() {
    let server = server_with_fake().await;
    let fixture = Fixture::new(&server.url("/registry.json"));
    assert!(fixture.catalog.is_known("fake").await);
    assert!(!fixture.catalog.is_known("another-agent").await);
    let outcome = fixture.catalog.install("fake", InstallRequest::default()).await.unwrap();
    assert!(!outcome.already_installed);
    assert_eq!(outcome.artifacts[0].source, Source::Registry);
    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["already_installed"], false);
    assert_eq!(json["artifacts"][0]["kind"], "agent_process");
    assert_eq!(json["artifacts"][0]["version"], "1.0.0");
    let listed = fixture.catalog.agents().await;
    let fake = listed.iter().find(|agent| agent.id == "fake").unwrap();
    assert_eq!((fake.name.as_str(), fake.installed), ("Fake agent", true));
    assert!(listed.iter().any(|agent| agent.id == "claude" && !agent.installed));
}

#[tokio::test]
async fn a_registry_that_is_down_means_the_pinned_fallback() {
    let sources = sources_of_pi(NO_REGISTRY).await;
    assert!(sources.iter().all(|source| *source == Source::Fallback) && sources.len() >= 2, "{sources:?}");
}

#[tokio::test]
async fn an_invalid_registry_document_means_the_pinned_fallback() {
    let server = Server::start().await;
    server.set("/registry.json", Answer::body("<html>maintenance</html>"));
    let sources = sources_of_pi(&server.url("/registry.json")).await;
    assert_eq!(sources[0], Source::Fallback);
}

#[tokio::test]
async fn a_registry_that_never_answers_is_abandoned() {
    let server = Server::start().await;
    server.set("/registry.json", Answer::Silent);
    let sources = sources_of_pi(&server.url("/registry.json")).await;
    assert_eq!(sources[0], Source::Fallback);
}

#[tokio::test]
async fn the_registry_takes_precedence_over_the_fallback_of_a_manifest_agent() {
    let npm = npm_with_pi().await;
    Package { name: "pi-acp", version: "9.9.9", engine: ">=18" }.publish(&npm);
    let registry = json!({ "version": "1", "agents": [{ "id": "pi-acp", "name": "pi", "version": "9.9.9",
        "description": "", "distribution": { "npx": { "package": "pi-acp@9.9.9", "args": ["--flag"] } } }] });
    npm.set("/registry.json", Answer::body(registry.to_string()));
    let fixture =
        Fixture::with(&npm.url("/registry.json"), |options| options.npm_registry = Some(npm.url("")));
    let outcome = fixture.catalog.install("pi", InstallRequest::default()).await.unwrap();
    assert_eq!(
        (outcome.artifacts[0].version.as_deref(), outcome.artifacts[0].source),
        (Some("9.9.9"), Source::Registry)
    );
    let command = fixture.catalog.launch("pi-acp").await.unwrap();
    assert_eq!(command.args.last().unwrap(), "--flag");
}

#[tokio::test]
async fn a_cached_document_is_revalidated_and_used_when_the_registry_is_down() {
    let server = server_with_fake().await;
    let url = server.url("/registry.json");
    let folder = tempfile::tempdir().unwrap();
    assert!(catalog_in(folder.path(), &url, |_| {}).is_known("fake").await);
    // Simulate another process, much later: the cache is stale, so the process revalidates it.
    let header = folder.path().join("data/cache/registry.header.json");
    let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&header).unwrap()).unwrap();
    kept["checked_at_ms"] = json!(1);
    std::fs::write(&header, kept.to_string()).unwrap();
    assert!(catalog_in(folder.path(), &url, |_| {}).is_known("fake").await);
    let requests = server.requests("/registry.json");
    assert_eq!(requests.len(), 2);
    assert!(requests[1].head.contains("if-none-match: \"one\""), "{}", requests[1].head);
    // The cache is fresh again: no request is sent.
    let catalog = catalog_in(folder.path(), &url, |_| {});
    assert!(catalog.is_known("fake").await);
    assert_eq!(server.requests("/registry.json").len(), 2);
    // The registry is down, and the cache is stale again.
    kept["checked_at_ms"] = json!(1);
    std::fs::write(&header, kept.to_string()).unwrap();
    server.set("/registry.json", Answer::body("not json"));
    let offline = catalog_in(folder.path(), &url, |_| {});
    let answer = offline.registry().lookup().await;
    assert!(answer.problem.is_some() && answer.document.unwrap().find("fake").is_some());
    let outcome = offline.install("fake", InstallRequest::default()).await.unwrap();
    assert_eq!(outcome.artifacts[0].source, Source::Registry);
}

#[tokio::test]
async fn a_registry_can_be_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let agent = folder.path().join("program");
    std::fs::write(&agent, fake_agent("2.0.0")).unwrap();
    let target = json!({ "archive": format!("file://{}", agent.display()), "cmd": "bin/agent" });
    let registry = folder.path().join("registry.json");
    std::fs::write(&registry, registry_of("filed", "2.0.0", &target)).unwrap();
    let fixture = Fixture::new(&format!("file://{}", registry.display()));
    let command = fixture.catalog.launch("filed").await.unwrap();
    assert!(command.program.ends_with("agents/filed/2.0.0/bin/agent"), "{:?}", command.program);
}

#[tokio::test]
async fn a_registry_on_the_network_cannot_have_a_local_file_installed() {
    let folder = tempfile::tempdir().unwrap();
    let agent = folder.path().join("program");
    std::fs::write(&agent, fake_agent("2.0.0")).unwrap();
    let target = json!({ "archive": format!("file://{}", agent.display()), "cmd": "bin/agent" });
    let server = Server::start().await;
    server.set("/registry.json", Answer::body(registry_of("filed", "2.0.0", &target)));
    let fixture = Fixture::new(&server.url("/registry.json"));
    let error = fixture.catalog.install("filed", InstallRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), "no_source");
    assert!(error.to_string().contains("a file of this machine"), "{error}");
    assert_eq!(fixture.names("filed"), Vec::<String>::new());
}

#[tokio::test]
async fn a_registry_only_agent_cannot_be_installed_while_the_registry_is_down() {
    let fixture = Fixture::new(NO_REGISTRY);
    let error = fixture.catalog.launch("amp").await.unwrap_err();
    assert_eq!(error.code(), "no_source");
    assert!(error.to_string().contains("SANDBOX_AGENT_ACP_REGISTRY_URL"), "{error}");
    assert_eq!(fixture.catalog.launch("unknown-agent").await.unwrap_err().code(), "unknown_agent");
}

#[tokio::test]
async fn twenty_concurrent_lookups_fetch_the_registry_once() {
    let server = server_with_fake().await;
    let fixture = Arc::new(Fixture::new(&server.url("/registry.json")));
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let fixture = fixture.clone();
            tokio::spawn(async move { fixture.catalog.is_known("fake").await })
        })
        .collect();
    for answer in asked {
        assert!(answer.await.unwrap());
    }
    assert_eq!(server.requests("/registry.json").len(), 1);
}

//! npm packages: real ones with the real npm, private runtimes, machines without Node.js.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use agent_catalog::{
    ArtifactKind, CatalogError, HostEnvironment, InstallOutcome, InstallRequest, InstallStep, Source,
};
use serde_json::{Value, json};
use support::packages::{Package, publish_all};
use support::server::Server;
use support::{Fixture, NO_REGISTRY};

/// This machine with a `PATH` that has the usual small programs, but no Node.js and no Python.
fn machine_without_node(folder: &Path) -> HostEnvironment {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let host = HostEnvironment::from_process();
    for name in ["sh", "env", "dirname", "realpath", "uname", "sed", "cat", "ls", "readlink", "basename"] {
        let program = host.find_program(name).unwrap();
        std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
    }
    host.with("PATH", bin).with("HOME", folder)
}

/// The registry that npm is configured with on this machine.
fn configured_registry() -> String {
    let output = Command::new("npm").args(["config", "get", "registry"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_real_agent_with_its_native_agent_and_a_newer_node_can_be_bundled() {
    // Use the real home directory, so that npm uses its configured registry.
    let fixture = Fixture::with(NO_REGISTRY, |options| options.host = HostEnvironment::from_process());
    let outcome = fixture.catalog.install("pi", InstallRequest::default()).await.unwrap();
    let versions: Vec<_> =
        outcome.artifacts.iter().map(|a| (a.kind, a.version.as_deref(), a.source)).collect();
    assert_eq!(versions[0], (ArtifactKind::AgentProcess, Some("0.0.34"), Source::Fallback));
    assert_eq!(versions[1], (ArtifactKind::NativeAgent, Some("0.87.1"), Source::Fallback));
    assert!(outcome.artifacts.iter().all(|artifact| artifact.path.exists()));
    let info = fixture.catalog.agent("pi").await.unwrap();
    assert_eq!(serde_json::to_value(info.verified).unwrap(), "ok");
    assert!(!info.capabilities.permissions);
    assert!(!fixture.folder.path().join("home/.bashrc").exists());

    let bundle = fixture.folder.path().join("pi.tar.zst");
    let packed = fixture.catalog.bundle(&["pi".to_owned()], &bundle).await.unwrap();
    assert!(packed.files > 100 && packed.bytes > 1 << 20);
    let lock = fixture.catalog.lock().await.unwrap();

    // Restore the bundle under another path, on a machine without Node.js and without network.
    let closed = tempfile::tempdir().unwrap();
    let elsewhere = Fixture::with(NO_REGISTRY, |options| options.host = machine_without_node(closed.path()));
    elsewhere.catalog.unbundle(&bundle).await.unwrap();
    drop(fixture);
    let report = elsewhere.catalog.probe("pi").await.unwrap();
    assert!(report.agent_capabilities.is_object(), "{report:?}");
    let restored = elsewhere.catalog.lock().await.unwrap();
    let pi = "pi".parse().unwrap();
    assert_eq!(restored.agents[&pi].sha256, lock.agents[&pi].sha256);
    let command = elsewhere.catalog.launch("pi").await.unwrap();
    assert!(command.program.starts_with(elsewhere.data()), "{:?}", command.program);
}

#[tokio::test]
async fn a_machine_without_node_gets_node_and_npm_from_the_configured_registry() {
    let folder = tempfile::tempdir().unwrap();
    let npm = Server::start().await;
    Package { name: "@google/gemini-cli", version: "0.61.0", engine: ">=18" }.publish(&npm);
    // Node.js and npm come from the real registry; an npmrc directs npm to the fake registry for the agent.
    std::fs::write(folder.path().join(".npmrc"), format!("@google:registry={}\n", npm.url("/"))).unwrap();
    let fixture = Fixture::with(NO_REGISTRY, |options| {
        options.host = machine_without_node(folder.path());
        options.npm_registry = Some(configured_registry());
    });
    let outcome = fixture.catalog.install("gemini", InstallRequest::default()).await.unwrap();
    let runtime = outcome.artifacts.iter().find(|artifact| artifact.kind == ArtifactKind::Runtime).unwrap();
    assert!(runtime.path.starts_with(fixture.data().join("runtimes/node")), "{:?}", runtime.path);
    let report = fixture.catalog.probe("gemini").await.unwrap();
    assert_eq!(report.agent_info["version"].as_str(), runtime.version.as_deref());
}

#[tokio::test]
async fn without_node_and_without_a_registry_the_error_names_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::with(NO_REGISTRY, |options| {
        let host =
            machine_without_node(folder.path()).without("NPM_CONFIG_REGISTRY").without("npm_config_registry");
        options.host = host.with("NPM_CONFIG_USERCONFIG", folder.path().join("none"));
        options.npm_registry = None;
    });
    let error = fixture.catalog.launch("gemini").await.unwrap_err();
    assert_eq!(error.code(), "runtime_missing");
    assert!(error.to_string().contains("SANDBOX_AGENT_NPM_REGISTRY"), "{error}");
    assert_eq!(fixture.names("gemini"), Vec::<String>::new());
}

/// A fake `gemini` package with this install script.
fn with_install_script(script: &str) -> Value {
    json!({ "name": "@google/gemini-cli", "version": "0.61.0", "bin": { "gemini-cli": "main.js" },
        "scripts": { "postinstall": script }, "hasInstallScript": true })
}

#[tokio::test]
async fn a_failing_install_script_is_shown_with_its_last_lines() {
    let npm = Server::start().await;
    let description = with_install_script("echo compiling; echo 'no compiler found' >&2; exit 7");
    publish_all(&npm, "@google/gemini-cli", &[description]);
    let fixture = Fixture::with(NO_REGISTRY, |options| options.npm_registry = Some(npm.url("")));
    match fixture.catalog.install("gemini", InstallRequest::default()).await.unwrap_err() {
        CatalogError::InstallFailed { step, output_tail, .. } => {
            assert_eq!(step, InstallStep::InstallPackage);
            assert!(output_tail.contains("no compiler found"), "{output_tail}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(fixture.names("gemini"), Vec::<String>::new());
}

#[tokio::test]
async fn an_install_script_sees_a_scratch_home() {
    let npm = Server::start().await;
    let script = "node -e \"require('fs').appendFileSync(process.env.HOME + '/.bashrc', 'touched')\"";
    publish_all(&npm, "@google/gemini-cli", &[with_install_script(script)]);
    let fixture = Fixture::with(NO_REGISTRY, |options| options.npm_registry = Some(npm.url("")));
    fixture.catalog.install("gemini", InstallRequest::default()).await.unwrap();
    let home: PathBuf = fixture.folder.path().join("home");
    assert_eq!(support::names(&home), Vec::<String>::new());
}

#[tokio::test]
async fn the_native_agent_behind_an_adapter_can_be_pinned() {
    let npm = Server::start().await;
    let adapter = json!({ "name": "@agentclientprotocol/codex-acp", "version": "2.6.0", "bin": "main.js",
        "dependencies": { "@openai/codex": "^0.166.0" } });
    let native = |version: &str| json!({ "name": "@openai/codex", "version": version });
    publish_all(&npm, "@agentclientprotocol/codex-acp", &[adapter]);
    publish_all(&npm, "@openai/codex", &[native("0.150.0"), native("0.166.3")]);
    let fixture = Fixture::with(NO_REGISTRY, |options| options.npm_registry = Some(npm.url("")));
    let native_version = |outcome: &InstallOutcome| {
        let found = outcome.artifacts.iter().find(|artifact| artifact.kind == ArtifactKind::NativeAgent);
        found.unwrap().version.clone().unwrap()
    };
    let usual = fixture.catalog.install("codex", InstallRequest::default()).await.unwrap();
    assert_eq!(native_version(&usual), "0.166.3");
    let request = InstallRequest { agent_version: Some("0.150.0".to_owned()), ..InstallRequest::default() };
    let pinned = fixture.catalog.install("codex", request.clone()).await.unwrap();
    assert_eq!(native_version(&pinned), "0.150.0");
    assert!(fixture.catalog.install("codex", request).await.unwrap().already_installed);
}

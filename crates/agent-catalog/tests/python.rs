//! Python packages: a real agent from the configured index, in an environment that can travel.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use agent_catalog::{HostEnvironment, InstallRequest, Source};
use support::{NO_REGISTRY, World};

#[tokio::test]
async fn a_real_python_agent_installs_answers_and_travels_with_its_interpreter() {
    let world = World::with(NO_REGISTRY, |options| options.host = HostEnvironment::from_process());
    let outcome = world.catalog.install("hermes", InstallRequest::default()).await.unwrap();
    let artifact = &outcome.artifacts[0];
    assert_eq!((artifact.version.as_deref(), artifact.source), (Some("0.19.0"), Source::Fallback));
    assert_eq!(serde_json::to_value(world.catalog.agent("hermes").await.unwrap().verified).unwrap(), "ok");

    let bundle = world.folder.path().join("hermes.tar.zst");
    world.catalog.bundle(&["hermes".to_owned()], &bundle).await.unwrap();
    let elsewhere = World::with(NO_REGISTRY, |options| {
        options.host = HostEnvironment::from_process().with("PATH", "/usr/bin:/bin").without("PYENV_ROOT");
    });
    elsewhere.catalog.unbundle(&bundle).await.unwrap();
    drop(world);
    let report = elsewhere.catalog.probe("hermes").await.unwrap();
    assert!(report.agent_capabilities.is_object(), "{report:?}");
    let python = elsewhere.data().join("agents/hermes/0.19.0/venv/bin/python").canonicalize().unwrap();
    assert!(python.starts_with(elsewhere.data().canonicalize().unwrap()), "{python:?}");
}

#[tokio::test]
async fn a_machine_without_python_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::with(NO_REGISTRY, |options| {
        let host = HostEnvironment::from_process().with("PATH", folder.path()).with("HOME", folder.path());
        options.host = host.without("PYENV_ROOT");
    });
    let error = world.catalog.install("hermes", InstallRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), "runtime_missing");
    assert!(error.to_string().contains("neither uv nor a Python"), "{error}");
    assert_eq!(world.names("hermes"), Vec::<String>::new());
}

//! Python packages: a real agent from the configured index, in a relocatable environment.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::io::Write;

use agent_catalog::{HostEnvironment, InstallRequest, Source};
use support::server::{Answer, Server};
use support::{Fixture, NO_REGISTRY, sha256};

#[tokio::test]
async fn a_real_python_agent_installs_answers_and_is_bundled_with_its_interpreter() {
    let fixture = Fixture::with(NO_REGISTRY, |options| options.host = HostEnvironment::from_process());
    let outcome = fixture.catalog.install("hermes", InstallRequest::default()).await.unwrap();
    let artifact = &outcome.artifacts[0];
    assert_eq!((artifact.version.as_deref(), artifact.source), (Some("0.19.0"), Source::Fallback));
    assert_eq!(serde_json::to_value(fixture.catalog.agent("hermes").await.unwrap().verified).unwrap(), "ok");

    let bundle = fixture.folder.path().join("hermes.tar.zst");
    fixture.catalog.bundle(&["hermes".to_owned()], &bundle).await.unwrap();
    let elsewhere = Fixture::with(NO_REGISTRY, |options| {
        options.host = HostEnvironment::from_process().with("PATH", "/usr/bin:/bin").without("PYENV_ROOT");
    });
    elsewhere.catalog.unbundle(&bundle).await.unwrap();
    drop(fixture);
    let report = elsewhere.catalog.probe("hermes").await.unwrap();
    assert!(report.agent_capabilities.is_object(), "{report:?}");
    let python = elsewhere.data().join("agents/hermes/0.19.0/venv/bin/python").canonicalize().unwrap();
    assert!(python.starts_with(elsewhere.data().canonicalize().unwrap()), "{python:?}");
}

#[tokio::test]
async fn without_python_the_error_names_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::with(NO_REGISTRY, |options| {
        let host = HostEnvironment::from_process().with("PATH", folder.path()).with("HOME", folder.path());
        options.host = host.without("PYENV_ROOT").without("PIP_INDEX_URL");
    });
    let error = fixture.catalog.install("hermes", InstallRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), "runtime_missing");
    assert!(error.to_string().contains("neither uv nor a Python"), "{error}");
    assert_eq!(fixture.names("hermes"), Vec::<String>::new());
}

#[tokio::test]
async fn a_machine_without_pip_gets_uv_from_the_index_that_pip_is_configured_with() {
    let server = Server::start().await;
    let program = b"#!/bin/sh\necho \"no route to the Python releases\" >&2\nexit 1\n";
    let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    wheel.start_file("uv-0.13.7.data/scripts/uv", zip::write::SimpleFileOptions::default()).unwrap();
    wheel.write_all(program).unwrap();
    let wheel = wheel.finish().unwrap().into_inner();
    let names =
        ["manylinux_2_17_x86_64", "manylinux_2_17_aarch64", "macosx_10_12_x86_64", "macosx_11_0_arm64"];
    let mut page = String::new();
    for name in names {
        let path = format!("/files/uv-0.13.7-py3-none-{name}.whl");
        page.push_str(&format!("<a href=\"../..{path}#sha256={}\">uv</a>\n", sha256(&wheel)));
        server.set(&path, Answer::body(wheel.clone()));
    }
    server.set("/simple/uv/", Answer::body(page));
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    let fixture = Fixture::with(NO_REGISTRY, |options| {
        let host = HostEnvironment::from_process().with("PATH", &bin).with("HOME", folder.path());
        options.host = host.without("PYENV_ROOT").with("PIP_INDEX_URL", server.url("/simple"));
    });
    let error = fixture.catalog.install("hermes", InstallRequest::default()).await.unwrap_err();
    // uv was installed. Python itself is missing now, and uv's output explains why it cannot be downloaded.
    assert_eq!(error.code(), "runtime_missing");
    assert!(error.to_string().contains("Python >=3.11, <3.14"), "{error}");
    assert!(error.to_string().contains("no route to the Python releases"), "{error}");
    assert_eq!(std::fs::read(fixture.data().join("runtimes/uv/0.13.7/bin/uv")).unwrap(), program);
}

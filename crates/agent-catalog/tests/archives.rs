//! Installs of archives from a server that may be wrong, slow, interrupted or hostile.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::io::Write;
use std::process::Command;

use agent_catalog::{CatalogError, InstallRequest, InstallStep};
use serde_json::{Value, json};
use support::server::{Answer, Server};
use support::{Fixture, fake_agent, noise, registry_of, sha256, tar, tar_gz};

/// Serves an archive under a name and tries to install it.
async fn install(name: &str, answer: Answer, target: Value) -> (Fixture, Result<(), CatalogError>) {
    let server = Server::start().await;
    server.set(&format!("/{name}"), answer);
    let mut target = target;
    target["archive"] = json!(server.url(&format!("/{name}")));
    server.set("/registry.json", Answer::body(registry_of("fake", "1.0.0", &target)));
    let fixture = Fixture::new(&server.url("/registry.json"));
    let result = fixture.catalog.install("fake", InstallRequest::default()).await;
    (fixture, result.map(|_| ()))
}

fn failed(error: CatalogError) -> (InstallStep, String) {
    match error {
        CatalogError::InstallFailed { step, detail, .. } => (step, detail),
        other => panic!("{other}"),
    }
}

/// A failed install must leave no files and no current version.
fn assert_clean(fixture: &Fixture) {
    assert_eq!(fixture.names("fake"), Vec::<String>::new());
}

fn zip_of(name: &str, content: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    zip.start_file(name, options).unwrap();
    zip.write_all(content).unwrap();
    zip.finish().unwrap().into_inner()
}

#[tokio::test]
async fn every_kind_of_archive_installs_and_starts() {
    let agent = fake_agent("1.0.0");
    let files: &[(&str, u32, &[u8])] =
        &[("dist/agent", 0o755, agent.as_bytes()), ("README", 0o644, b"hello")];
    let bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    let kinds = [
        ("a.tar.gz", tar_gz(files)),
        ("a.tar.bz2", tar(files, bzip2).finish().unwrap()),
        ("a.zip", zip_of("dist/agent", agent.as_bytes())),
        ("agent-linux", agent.clone().into_bytes()),
    ];
    for (name, bytes) in kinds {
        let target =
            json!({ "cmd": "./dist/agent", "sha256": sha256(&bytes).to_uppercase(), "env": { "A": "b" } });
        let (fixture, result) = install(name, Answer::body(bytes), target).await;
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        let info = fixture.catalog.agent_probed("fake").await.unwrap();
        assert_eq!(serde_json::to_value(info.verified).unwrap(), "ok", "{name}");
        assert_eq!(
            (info.capabilities.images, info.capabilities.plan_mode),
            (Some(true), Some(true)),
            "{name}"
        );
        assert_eq!(info.models.unwrap()["category"], "model");
        let command = fixture.catalog.launch("fake").await.unwrap();
        assert_eq!(command.env[std::ffi::OsStr::new("A")], "b");
        assert!(command.lease.is_held());
    }
}

#[tokio::test]
async fn a_wrong_checksum_is_refused() {
    let bytes = tar_gz(&[("fake", 0o755, b"#!/bin/sh\n")]);
    let target = json!({ "cmd": "fake", "sha256": sha256(b"something else") });
    let (fixture, result) = install("a.tar.gz", Answer::body(bytes), target).await;
    let (step, detail) = failed(result.unwrap_err());
    assert_eq!(step, InstallStep::Download);
    assert!(detail.contains("wrong checksum"), "{detail}");
    assert_clean(&fixture);
}

#[tokio::test]
async fn a_download_that_breaks_off_is_refused() {
    let bytes = tar_gz(&[("fake", 0o755, &noise(100_000))]);
    let (fixture, result) = install("a.tar.gz", Answer::Truncated(bytes), json!({ "cmd": "fake" })).await;
    let (step, detail) = failed(result.unwrap_err());
    assert_eq!(step, InstallStep::Download, "{detail}");
    assert_clean(&fixture);
}

#[tokio::test]
async fn an_archive_that_leaves_its_directory_is_refused() {
    let bytes = tar_gz(&[("fake", 0o755, b"#!/bin/sh\n"), ("../../../escaped", 0o644, b"x")]);
    let (fixture, result) = install("a.tar.gz", Answer::body(bytes), json!({ "cmd": "fake" })).await;
    let (step, detail) = failed(result.unwrap_err());
    assert_eq!(step, InstallStep::Unpack);
    assert!(detail.contains("../../../escaped"), "{detail}");
    assert_clean(&fixture);
    let folder = fixture.folder.path();
    assert!(!folder.join("escaped").exists() && !fixture.data().join("escaped").exists());
}

#[tokio::test]
async fn a_command_that_leaves_the_archive_is_refused() {
    let bytes = tar_gz(&[("fake", 0o755, b"#!/bin/sh\n")]);
    let (fixture, result) =
        install("a.tar.gz", Answer::body(bytes), json!({ "cmd": "../../../bin/sh" })).await;
    assert!(failed(result.unwrap_err()).1.contains("leaves the archive"));
    assert_clean(&fixture);
}

#[tokio::test]
async fn an_archive_without_its_command_is_refused() {
    let bytes = tar_gz(&[("other", 0o755, b"#!/bin/sh\n")]);
    let (fixture, result) = install("a.tar.gz", Answer::body(bytes), json!({ "cmd": "fake" })).await;
    assert_eq!(failed(result.unwrap_err()).0, InstallStep::Unpack);
    assert_clean(&fixture);
}

#[tokio::test]
async fn a_missing_archive_is_reported_with_the_servers_status() {
    let server = Server::start().await;
    let target = json!({ "archive": server.url("/missing.zip"), "cmd": "fake" });
    server.set("/registry.json", Answer::body(registry_of("fake", "1.0.0", &target)));
    let fixture = Fixture::new(&server.url("/registry.json"));
    let error = fixture.catalog.install("fake", InstallRequest::default()).await.unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
}

#[tokio::test]
async fn a_program_for_another_machine_fails_the_install_at_verification() {
    let mut bytes = b"\x7fELF".to_vec();
    bytes.extend(noise(4096));
    let (fixture, result) = install("agent", Answer::body(bytes), json!({ "cmd": "agent" })).await;
    let (step, detail) = failed(result.unwrap_err());
    assert_eq!(step, InstallStep::Verify);
    assert!(detail.contains("cannot start"), "{detail}");
    assert_clean(&fixture);
}

#[tokio::test]
async fn an_agent_that_only_lacks_credentials_is_installed() {
    let script = b"#!/bin/sh\necho 'Error: please set EXAMPLE_API_KEY' >&2\nexit 1\n";
    let (fixture, result) = install("agent", Answer::body(*script), json!({ "cmd": "agent" })).await;
    result.unwrap();
    let info = fixture.catalog.agent("fake").await.unwrap();
    assert_eq!(serde_json::to_value(info.verified).unwrap(), "needs_credentials");
    assert!(info.install.error.unwrap().contains("EXAMPLE_API_KEY"));
}

/// These tests need a mount namespace of their own, so they run in `make test-builds`.
mod privileged {
    use super::*;

    /// Installs an agent into a tiny file system.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_full_disk_fails_the_install_and_leaves_no_files() {
        let server = Server::start().await;
        server.set("/big.tar.gz", Answer::body(tar_gz(&[("fake", 0o755, &noise(4 << 20))])));
        let target = json!({ "archive": server.url("/big.tar.gz"), "cmd": "fake" });
        server.set("/registry.json", Answer::body(registry_of("fake", "1.0.0", &target)));
        let folder = tempfile::tempdir().unwrap();
        let script = r#"mount -t tmpfs -o size=2m tmpfs "$1" && "$2" "$1/data" install fake; ls -A "$1/data/agents/fake""#;
        let output = tokio::task::spawn_blocking({
            let (folder, url) = (folder.path().to_owned(), server.url("/registry.json"));
            move || {
                Command::new("unshare")
                    .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
                    .arg(folder)
                    .arg(env!("CARGO_BIN_EXE_agent-catalog"))
                    .env("SANDBOX_AGENT_ACP_REGISTRY_URL", url)
                    .output()
                    .unwrap()
            }
        })
        .await
        .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (first, leftovers) = text.split_once('\n').unwrap_or_else(|| panic!("{output:?}"));
        let answer: Value = serde_json::from_str(first).unwrap();
        assert_eq!(answer["code"], "install_failed", "{answer}");
        assert!(answer["error"].as_str().unwrap().contains("No space left"), "{answer}");
        assert_eq!(leftovers, "");
    }
}

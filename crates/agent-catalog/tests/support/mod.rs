//! Shared test support: a tiny HTTP server, a fake agent, archives, catalogs in temporary folders.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "every test binary uses a part of it")]

pub mod packages;
pub mod server;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_catalog::{Catalog, CatalogOptions, HostEnvironment};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A registry address at which no server listens.
pub const NO_REGISTRY: &str = "http://127.0.0.1:1/registry.json";

/// A shell script that speaks just enough ACP, with this version in its `agentInfo`.
pub fn fake_agent(version: &str) -> String {
    format!(
        r#"#!/bin/sh
while read -r line; do
  case "$line" in
    *'"initialize"'*) echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentInfo":{{"name":"fake","version":"{version}"}},"agentCapabilities":{{"promptCapabilities":{{"image":true}}}},"authMethods":[]}}}}' ;;
    *'"session/new"'*) echo '{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"s","modes":{{"currentModeId":"plan","availableModes":[{{"id":"plan","name":"Plan"}}]}},"configOptions":[{{"id":"model","category":"model"}}]}}}}' ;;
  esac
done
"#
    )
}

/// A catalog in a temporary folder, with an empty home directory.
pub struct Fixture {
    pub folder: TempDir,
    pub catalog: Catalog,
}

impl Fixture {
    pub fn new(registry_url: &str) -> Self {
        Self::with(registry_url, |_| {})
    }

    pub fn with(registry_url: &str, change: impl FnOnce(&mut CatalogOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let catalog = catalog_in(folder.path(), registry_url, change);
        Self { folder, catalog }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Names below an agent's directory, sorted.
    pub fn names(&self, agent: &str) -> Vec<String> {
        names(&self.data().join("agents").join(agent))
    }
}

pub fn catalog_in(folder: &Path, registry_url: &str, change: impl FnOnce(&mut CatalogOptions)) -> Catalog {
    // Tools and agents run under a supervisor, which is the binary itself; a test binary cannot be one.
    process_supervisor::set_supervisor_program(env!("CARGO_BIN_EXE_agent-catalog"));
    let home = folder.join("home");
    std::fs::create_dir_all(&home).unwrap();
    let mut options = CatalogOptions::new(folder.join("data"));
    options.registry_url = registry_url.to_owned();
    options.host = HostEnvironment::from_process().with("HOME", home);
    change(&mut options);
    Catalog::new(options).unwrap()
}

pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A registry with one agent, offered as an archive for this machine.
pub fn registry_of(id: &str, version: &str, target: &Value) -> String {
    let platform = agent_catalog::Platform::current().key();
    json!({ "version": "1.0.0", "future": { "unknown": true }, "agents": [{
        "id": id, "name": "Fake agent", "version": version, "description": "for tests", "icon": "x.svg",
        "distribution": { "binary": { platform: target, "windows-x86_64": { "archive": "x", "cmd": "y.exe" } } },
    }]})
    .to_string()
}

/// A gzipped tar of files: name, mode, content.
pub fn tar_gz(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    tar(files, gzip).finish().unwrap()
}

pub fn tar<W: Write>(files: &[(&str, u32, &[u8])], writer: W) -> W {
    let mut archive = tar::Builder::new(writer);
    for (name, mode, content) in files {
        let mut header = tar::Header::new_gnu();
        // The name is set by hand, because the library refuses the names that the catalog has to refuse.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(*mode);
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes that do not compress.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(length).collect()
}

/// Polls until a condition holds; fails the test after a deadline.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within 30 s");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

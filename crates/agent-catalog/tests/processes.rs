//! Several processes that share one data directory, and processes that are killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use support::server::{Answer, Server};
use support::{Fixture, eventually, fake_agent, registry_of, tar_gz};
use tokio::sync::Notify;

/// Starts another process that installs `fake` into the same data directory.
fn installer(data: &Path, registry_url: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_agent-catalog"))
        .arg(data)
        .args(["install", "fake"])
        .env("SANDBOX_AGENT_ACP_REGISTRY_URL", registry_url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Whether a process has a file open.
fn has_open(process: &Child, file: &Path) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", process.id())).into_iter().flatten().flatten();
    descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|target| target == file)
}

async fn answer(child: Child) -> Value {
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn stalling_server() -> (Server, Arc<Notify>) {
    let server = Server::start().await;
    let release = Arc::new(Notify::new());
    let archive = tar_gz(&[("fake", 0o755, fake_agent("1.0.0").as_bytes())]);
    server.set("/fake.tar.gz", Answer::Stalled(archive, release.clone()));
    let target = json!({ "archive": server.url("/fake.tar.gz"), "cmd": "fake" });
    server.set("/registry.json", Answer::body(registry_of("fake", "1.0.0", &target)));
    (server, release)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_one_data_directory_install_once() {
    let (server, release) = stalling_server().await;
    let url = server.url("/registry.json");
    let fixture = Fixture::new(&url);
    let first = installer(&fixture.data(), &url);
    eventually("the first downloads", || !server.requests("/fake.tar.gz").is_empty()).await;
    let second = installer(&fixture.data(), &url);
    eventually("the second waits for the lock", || {
        has_open(&second, &fixture.data().join("locks/agent-fake.lock"))
    })
    .await;
    release.notify_one();
    let (first, second) = (answer(first).await, answer(second).await);
    assert_eq!(first["outcome"]["already_installed"], false, "{first}");
    assert_eq!(second["outcome"]["already_installed"], true, "{second}");
    assert_eq!(server.requests("/fake.tar.gz").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_left_by_a_killed_install_are_deleted_by_the_next_one() {
    let (server, release) = stalling_server().await;
    let url = server.url("/registry.json");
    let fixture = Fixture::new(&url);
    let mut killed = installer(&fixture.data(), &url);
    eventually("the download has begun", || {
        let scratch = fixture.names("fake").into_iter().find(|name| name.starts_with(".scratch"));
        scratch.is_some_and(|name| fixture.data().join("agents/fake").join(name).join("download").exists())
    })
    .await;
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(!fixture.names("fake").is_empty(), "the killed install left no files");
    assert!(!fixture.catalog.agent("fake").await.unwrap().installed);
    release.notify_one();
    let retry = fixture.catalog.launch("fake");
    release.notify_one();
    retry.await.unwrap();
    assert_eq!(fixture.names("fake"), ["1.0.0", "current"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_install_killed_while_its_tool_runs_is_retried_in_another_directory() {
    // The agent hangs during verification: the version directory is filled, but not complete yet.
    let server = Server::start().await;
    let archive = tar_gz(&[("fake", 0o755, b"#!/bin/sh\nexec sleep 20\n")]);
    server.set("/fake.tar.gz", Answer::body(archive));
    let target = json!({ "archive": server.url("/fake.tar.gz"), "cmd": "fake" });
    server.set("/registry.json", Answer::body(registry_of("fake", "1.0.0", &target)));
    let url = server.url("/registry.json");
    let fixture = Fixture::new(&url);
    let mut killed = installer(&fixture.data(), &url);
    eventually("the program is unpacked", || fixture.data().join("agents/fake/1.0.0/fake").exists()).await;
    killed.kill().unwrap();
    killed.wait().unwrap();
    server.set("/fake.tar.gz", Answer::body(tar_gz(&[("fake", 0o755, fake_agent("1.0.0").as_bytes())])));
    let command = fixture.catalog.launch("fake").await.unwrap();
    assert!(command.program.ends_with("agents/fake/1.0.0+2/fake"), "{:?}", command.program);
    assert_eq!(fixture.names("fake"), ["1.0.0+2", "current"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_being_verified_does_not_survive_kill_9_of_the_installer() {
    let server = Server::start().await;
    let url = server.url("/registry.json");
    let fixture = Fixture::new(&url);
    // The agent never answers, and leaves a daemon with an empty environment in a session of its own.
    let file = fixture.folder.path().join("pids");
    let script = format!(
        "#!/bin/sh\nsetsid env -i sh -c 'echo $$ >>{0}; exec sleep 600' &\necho $$ >>{0}\nexec sleep 600\n",
        file.display()
    );
    server.set("/fake.tar.gz", Answer::body(tar_gz(&[("fake", 0o755, script.as_bytes())])));
    let target = json!({ "archive": server.url("/fake.tar.gz"), "cmd": "fake" });
    server.set("/registry.json", Answer::body(registry_of("fake", "1.0.0", &target)));
    let mut killed = installer(&fixture.data(), &url);
    let pids = || -> Vec<u32> {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    eventually("the agent and its daemon run", || pids().len() == 2).await;
    killed.kill().unwrap();
    killed.wait().unwrap();
    for pid in pids() {
        eventually("it has ended", || !Path::new(&format!("/proc/{pid}")).exists()).await;
    }
}

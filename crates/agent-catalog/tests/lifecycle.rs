//! Repeated, concurrent, pinned and refused installs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_catalog::{
    Catalog, CatalogError, CommandSpec, InstallRequest, InstallState, InstallStep, PreinstallPolicy, Source,
};
use serde_json::json;
use support::packages::Package;
use support::server::{Answer, Server};
use support::{Fixture, NO_REGISTRY, eventually, fake_agent, registry_of, tar_gz};
use tokio::sync::Notify;

/// Offers a version of `fake`, replacing any version offered before.
fn offer(server: &Server, version: &str, script: &str) {
    let path = format!("/fake-{version}.tar.gz");
    server.set(&path, Answer::body(tar_gz(&[("fake", 0o755, script.as_bytes())])));
    let target = json!({ "archive": server.url(&path), "cmd": "fake" });
    server.set("/registry.json", Answer::body(registry_of("fake", version, &target)));
}

/// A catalog without a cached registry document, as after the cache has expired.
fn catalog_without_cache(fixture: &Fixture, server: &Server) -> Catalog {
    let _ = std::fs::remove_dir_all(fixture.data().join("cache"));
    support::catalog_in(fixture.folder.path(), &server.url("/registry.json"), |_| {})
}

fn reinstall() -> InstallRequest {
    InstallRequest { reinstall: true, ..InstallRequest::default() }
}

#[tokio::test]
async fn a_second_install_finds_the_agent_installed() {
    let server = Server::start().await;
    offer(&server, "1.0.0", &fake_agent("1.0.0"));
    let fixture = Fixture::new(&server.url("/registry.json"));
    let first = fixture.catalog.install("fake", InstallRequest::default()).await.unwrap();
    let second = fixture.catalog.install("fake", InstallRequest::default()).await.unwrap();
    assert!(!first.already_installed && second.already_installed);
    assert_eq!(first.artifacts, second.artifacts);
    assert_eq!(server.requests("/fake-1.0.0.tar.gz").len(), 1);
    // One user may install an agent and another may run it, so its files have the permissions of any new file.
    let plain = fixture.folder.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&fixture.data().join("agents/fake/1.0.0/.install.json")), mode(&plain));
    // Another process finds it too, even offline.
    let offline = support::catalog_in(fixture.folder.path(), NO_REGISTRY, |_| {});
    assert!(offline.is_known("fake").await);
    assert!(offline.install("fake", InstallRequest::default()).await.unwrap().already_installed);
}

#[tokio::test]
async fn an_agent_launched_twenty_times_at_once_is_installed_once() {
    let server = Server::start().await;
    offer(&server, "1.0.0", &fake_agent("1.0.0"));
    let fixture = Arc::new(Fixture::new(&server.url("/registry.json")));
    let launches: Vec<_> = (0..20)
        .map(|_| {
            let fixture = fixture.clone();
            tokio::spawn(async move { fixture.catalog.launch("fake").await.unwrap().program })
        })
        .collect();
    let mut programs = Vec::new();
    for launch in launches {
        programs.push(launch.await.unwrap());
    }
    programs.dedup();
    assert_eq!(programs.len(), 1);
    assert_eq!(server.requests("/fake-1.0.0.tar.gz").len(), 1);
    assert_eq!(fixture.names("fake"), ["1.0.0", "current"]);
}

#[tokio::test]
async fn an_install_outlives_its_caller_and_reports_its_progress() {
    let server = Server::start().await;
    offer(&server, "1.0.0", &fake_agent("1.0.0"));
    let release = Arc::new(Notify::new());
    let archive = tar_gz(&[("fake", 0o755, fake_agent("1.0.0").as_bytes())]);
    server.set("/fake-1.0.0.tar.gz", Answer::Stalled(archive, release.clone()));
    let fixture = Fixture::new(&server.url("/registry.json"));
    let mut progress = fixture.catalog.install_progress("fake").unwrap();
    let caller = {
        let catalog = fixture.catalog.clone();
        tokio::spawn(async move { catalog.launch("fake").await })
    };
    progress.wait_for(|progress| progress.step == Some(InstallStep::Download)).await.unwrap();
    let info = serde_json::to_value(fixture.catalog.agent("fake").await.unwrap()).unwrap();
    assert_eq!(info["install"]["state"], "installing");
    assert_eq!(info["install"]["step"], "download");
    assert!(info["install"]["elapsedMs"].is_u64() && info["installed"] == false);
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    release.notify_one();
    let end = progress.wait_for(|progress| progress.state != InstallState::Installing).await.unwrap().clone();
    assert_eq!((end.state, end.step), (InstallState::Installed, None));
    assert!(fixture.catalog.agent("fake").await.unwrap().installed);
    assert_eq!(server.requests("/fake-1.0.0.tar.gz").len(), 1);
}

#[tokio::test]
async fn without_installs_on_first_use_a_launch_is_refused_until_the_agent_is_installed() {
    let server = Server::start().await;
    offer(&server, "1.0.0", &fake_agent("1.0.0"));
    let fixture = Fixture::with(&server.url("/registry.json"), |options| {
        options.preinstall = PreinstallPolicy::Required;
    });
    let error = fixture.catalog.launch("fake").await.unwrap_err();
    assert_eq!(error.code(), "agent_not_installed");
    assert!(error.to_string().contains("sandbox-agent install fake"), "{error}");
    assert_eq!(fixture.catalog.probe("fake").await.unwrap_err().code(), "agent_not_installed");
    assert_eq!(server.requests("/fake-1.0.0.tar.gz").len(), 0);
    fixture.catalog.install("fake", InstallRequest::default()).await.unwrap();
    fixture.catalog.launch("fake").await.unwrap();
}

#[tokio::test]
async fn a_reinstall_leaves_a_running_version_in_place_and_clears_it_later() {
    let server = Server::start().await;
    offer(&server, "1.0.0", &fake_agent("1.0.0"));
    let fixture = Fixture::new(&server.url("/registry.json"));
    let running = fixture.catalog.launch("fake").await.unwrap();
    fixture.catalog.install("fake", reinstall()).await.unwrap();
    assert_eq!(fixture.names("fake"), ["1.0.0", "1.0.0+2", "current"]);
    assert!(running.program.exists(), "the running version was deleted");
    let second = fixture.catalog.launch("fake").await.unwrap();
    assert!(second.program.starts_with(fixture.data().join("agents/fake/1.0.0+2")));
    // The first version is no longer leased: the next install deletes it, but not the second one.
    drop(running);
    offer(&server, "2.0.0", &fake_agent("2.0.0"));
    let later = catalog_without_cache(&fixture, &server);
    later.install("fake", reinstall()).await.unwrap();
    assert_eq!(fixture.names("fake"), ["1.0.0+2", "2.0.0", "current"]);
    fixture.catalog.remove_unused_versions().await;
    assert!(second.program.exists());
    drop(second);
    fixture.catalog.remove_unused_versions().await;
    assert_eq!(fixture.names("fake"), ["2.0.0", "current"]);
}

#[tokio::test]
async fn an_update_that_does_not_work_leaves_the_working_version_in_use() {
    let server = Server::start().await;
    offer(&server, "1.0.0", &fake_agent("1.0.0"));
    let fixture = Fixture::new(&server.url("/registry.json"));
    fixture.catalog.install("fake", InstallRequest::default()).await.unwrap();
    offer(&server, "2.0.0", "#!/bin/sh\necho 'Segmentation fault' >&2\nexit 139\n");
    let later = catalog_without_cache(&fixture, &server);
    match later.install("fake", reinstall()).await.unwrap_err() {
        CatalogError::InstallFailed { step, detail, output_tail, .. } => {
            assert_eq!(step, InstallStep::Verify);
            assert!(detail.contains("exit code 139"), "{detail}");
            assert!(output_tail.contains("Segmentation fault"), "{output_tail}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(later.agent("fake").await.unwrap().version.as_deref(), Some("1.0.0"));
    assert_eq!(
        serde_json::to_value(later.agent("fake").await.unwrap()).unwrap()["install"]["state"],
        "failed"
    );
    assert_eq!(fixture.names("fake"), ["1.0.0", "current"]);
    later.launch("fake").await.unwrap();
}

#[tokio::test]
async fn a_pinned_version_is_installed_and_an_unavailable_one_is_refused() {
    let npm = Server::start().await;
    Package { name: "@google/gemini-cli", version: "0.50.0", engine: ">=18" }.publish(&npm);
    let fixture = Fixture::with(NO_REGISTRY, |options| options.npm_registry = Some(npm.url("")));
    let pinned = |version: &str| InstallRequest {
        agent_process_version: Some(version.to_owned()),
        ..InstallRequest::default()
    };
    let outcome = fixture.catalog.install("gemini", pinned("0.50.0")).await.unwrap();
    let artifact = &outcome.artifacts[0];
    assert_eq!((artifact.version.as_deref(), artifact.source), (Some("0.50.0"), Source::Fallback));
    assert!(fixture.catalog.install("gemini", pinned("0.50.0")).await.unwrap().already_installed);
    let error = fixture.catalog.install("gemini", pinned("0.49.0")).await.unwrap_err();
    assert_eq!(error.code(), "version_unavailable", "{error}");
    assert_eq!(
        fixture.catalog.install("gemini", pinned("../evil")).await.unwrap_err().code(),
        "version_unavailable"
    );
    assert_eq!(fixture.catalog.launch("gemini").await.unwrap().version.as_deref(), Some("0.50.0"));
}

#[tokio::test]
async fn a_custom_agent_and_the_mock_need_no_install() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("custom-agent");
    std::fs::write(&program, fake_agent("0")).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let spec = CommandSpec { command: program.clone(), args: vec!["--x".into()], ..CommandSpec::default() };
    let fixture = Fixture::with(NO_REGISTRY, |options| {
        options.custom_agents.insert("claude".parse().unwrap(), spec.clone());
        options.mock_command = Some(CommandSpec { command: program.clone(), ..CommandSpec::default() });
    });
    let custom = fixture.catalog.launch("claude").await.unwrap();
    assert_eq!((custom.program.as_path(), custom.args.len()), (program.as_path(), 1));
    let outcome = fixture.catalog.install("mock", InstallRequest::default()).await.unwrap();
    assert_eq!((outcome.already_installed, outcome.artifacts[0].source), (true, Source::Builtin));
    let pinned =
        InstallRequest { agent_process_version: Some("1.0".to_owned()), ..InstallRequest::default() };
    let refused = fixture.catalog.install("mock", pinned).await.unwrap_err();
    assert_eq!(refused.code(), "version_unavailable", "a configured command has no versions");
    let mock = fixture.catalog.agent_probed("mock").await.unwrap();
    assert!(mock.installed && mock.credentials_available && mock.capabilities.questions);
    assert_eq!(mock.modes.unwrap()["currentModeId"], "plan");
    assert!(!Fixture::new(NO_REGISTRY).catalog.is_known("mock").await);
    assert!(!fixture.data().exists(), "the data directory was written");
}

#[tokio::test]
async fn processes_started_by_a_probe_do_not_outlive_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("daemonizing");
    let pid_file = folder.path().join("pid");
    let script = format!(
        "#!/bin/sh\nsetsid sh -c 'echo $$ > {}; exec sleep 600' </dev/null >/dev/null 2>&1 &\n{}",
        pid_file.display(),
        fake_agent("0").trim_start_matches("#!/bin/sh\n")
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let fixture = Fixture::with(NO_REGISTRY, |options| {
        options.mock_command = Some(CommandSpec { command: program.clone(), ..CommandSpec::default() });
    });
    // The probe may finish before the daemon starts, which would prove nothing: repeat until the daemon was
    // running.
    let mut started = false;
    for _ in 0..20 {
        fixture.catalog.probe("mock").await.unwrap();
        // The file is empty if the daemon was killed between opening it and writing to it.
        let pid = std::fs::read_to_string(&pid_file).unwrap_or_default();
        if !pid.trim().is_empty() {
            started = true;
            let stat = Path::new("/proc").join(pid.trim()).join("stat");
            eventually("the daemon is gone", || {
                // A killed process may remain as a zombie until its parent reaps it.
                std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
            })
            .await;
            break;
        }
        let catalog = support::catalog_in(fixture.folder.path(), NO_REGISTRY, |options| {
            options.mock_command = Some(CommandSpec { command: program.clone(), ..CommandSpec::default() });
        });
        catalog.probe("mock").await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(started, "the daemon never started");
}

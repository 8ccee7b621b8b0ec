//! Failing installs: the errors that clients receive, and the files left behind.

use serde_json::json;

use crate::support::depot::{FAKE, archive};
use crate::support::npm::{machine_with_gemini, pinned_gemini};
use crate::support::{Depot, Machine, NO_SERVER, ask, hello, install, script, show};
use test_harness::eventually;

#[test]
fn a_failed_install_is_502_with_its_step_and_exit_for_readers_and_the_next_post_tries_again() {
    let depot = Depot::with_fake(&script("1.0.0"));
    // Not an archive. The reader can attach while half of it is downloaded.
    depot.put(FAKE, "this is not an archive");
    let gate = depot.hold(FAKE);
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let first = hello(&server, "a", "fake").start();
    depot.wait_for_download();
    let mut reader = server.stream("a");
    gate.open();
    let problem = first.join().unwrap().problem(502, "install_failed");
    assert_eq!((&problem["agent"], &problem["step"]), (&json!("fake"), &json!("unpack")));
    assert!(problem["detail"].as_str().unwrap().contains("unpack"), "{problem}");
    let exit = reader.next();
    assert_eq!((exit.name.as_str(), &exit.json()["error"]), ("exit", &json!("install_failed")));
    assert_eq!(exit.json()["problem"], problem);
    assert_eq!(reader.next_or_end(), None, "exit must end the stream");
    eventually("the instance is gone", || server.summary("a").is_none().then_some(()));
    server.get("a").send().problem(404, "unknown_server");
    let failed = show(&server, "fake");
    assert_eq!(
        (&failed["installed"], &failed["install"]["state"], &failed["install"]["step"]),
        (&json!(false), &json!("failed"), &json!("unpack"))
    );
    assert!(failed["install"]["error"].as_str().is_some_and(|error| !error.is_empty()));
    assert_eq!(machine.versions("fake"), Vec::<String>::new());

    depot.put(FAKE, archive(&[("fake/bin/fake", &script("1.0.0"))]));
    hello(&server, "a", "fake").send().expect(200);
    let repaired = show(&server, "fake");
    assert_eq!(
        (&repaired["install"]["state"], &repaired["install"]["error"]),
        (&json!("installed"), &json!(null))
    );
}

#[test]
fn a_missing_archive_is_reported_with_the_servers_status() {
    let depot = Depot::with_fake(&script("1.0.0"));
    depot.remove(FAKE);
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    for problem in [
        hello(&server, "a", "fake").send().problem(502, "install_failed"),
        install(&server, "fake", &json!({})).send().problem(502, "install_failed"),
    ] {
        assert_eq!(problem["step"], "download");
        assert!(problem["detail"].as_str().unwrap().contains("404"), "{problem}");
    }
    assert_eq!(depot.requests(FAKE), 2, "the second request must try again");
}

#[test]
fn an_explicit_install_of_an_agent_that_fails_its_verification_is_a_failure() {
    let broken = "#!/bin/sh\necho 'segmentation fault' >&2\nexit 1\n";
    let depot = Depot::with_fake(broken);
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    for _ in 0..2 {
        let problem = install(&server, "fake", &json!({})).send().problem(502, "install_failed");
        assert_eq!((&problem["agent"], &problem["step"]), (&json!("fake"), &json!("verify")));
        assert!(problem["outputTail"].as_str().unwrap().contains("segmentation fault"), "{problem}");
    }
    let shown = show(&server, "fake");
    assert_eq!((&shown["installed"], &shown["install"]["state"]), (&json!(false), &json!("failed")));
    let said = machine.run(&["install", "fake"]).failed();
    assert!(said.contains("verify") && said.contains("segmentation fault"), "{said}");
    assert!(!said.contains("fake installed"), "{said}");
    assert_eq!(machine.versions("fake"), Vec::<String>::new());
    // An install on first use starts the agent anyway: its own output says more than a failed install.
    hello(&server, "a", "fake").send().problem(502, "agent_exited");
    assert_eq!(show(&server, "fake")["verified"], "failed");
    install(&server, "fake", &json!({})).send().problem(502, "install_failed");
}

#[test]
fn a_failing_tool_is_reported_with_its_last_lines() {
    let (_, version) = pinned_gemini();
    let broken = json!({ "hasInstallScript": true,
        "scripts": { "postinstall": "echo compiling; echo 'no compiler found' >&2; exit 7" } });
    let (_depot, machine) = machine_with_gemini(&[&version], &broken);
    let server = machine.start();
    let problem = hello(&server, "a", "gemini").send().problem(502, "install_failed");
    assert_eq!((&problem["agent"], &problem["step"]), (&json!("gemini"), &json!("install_package")));
    assert!(problem["outputTail"].as_str().unwrap().contains("no compiler found"), "{problem}");
    assert_eq!(machine.versions("gemini"), Vec::<String>::new());
    // The command line reports the same.
    let printed = machine.run(&["install", "gemini"]).failed();
    assert!(printed.contains("install_package") && printed.contains("no compiler found"), "{printed}");
}

#[test]
fn an_archive_with_a_wrong_checksum_is_refused() {
    let depot = Depot::open();
    depot.offer("1.0.0", &script("1.0.0"), &json!({ "sha256": "0".repeat(64) }));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let problem = hello(&server, "a", "fake").send().problem(502, "install_failed");
    assert_eq!(problem["step"], "download");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("checksum") && detail.contains(&"0".repeat(64)), "{detail}");
    assert_eq!(machine.versions("fake"), Vec::<String>::new());
}

#[test]
fn an_archive_that_leaves_its_directory_is_refused() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    let mut header = tar::Header::new_gnu();
    // The name is set by hand, because the library refuses such names.
    let name = b"../../../../escaped";
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_mode(0o644);
    header.set_size(4);
    header.set_cksum();
    tar.append(&header, &b"evil"[..]).unwrap();
    depot.put(FAKE, tar.into_inner().unwrap().finish().unwrap());
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let problem = hello(&server, "a", "fake").send().problem(502, "install_failed");
    assert_eq!(problem["step"], "unpack");
    assert!(!machine.folder().join("escaped").exists() && !machine.data().join("escaped").exists());
}

#[test]
fn a_failed_reinstall_leaves_the_working_version_in_use() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    hello(&server, "a", "fake").send().expect(200);
    depot.put(FAKE, archive(&[("fake/bin/fake", "#!/bin/sh\necho 'Segmentation fault' >&2\nexit 139\n")]));
    let problem = install(&server, "fake", &json!({"reinstall": true})).send().problem(502, "install_failed");
    assert_eq!(problem["step"], "verify");
    assert!(problem["outputTail"].as_str().unwrap().contains("Segmentation fault"), "{problem}");
    let fake = show(&server, "fake");
    assert_eq!((&fake["installed"], &fake["install"]["state"]), (&json!(true), &json!("failed")));
    assert!(ask(&server, "a", 2, "where").is_string());
    hello(&server, "b", "fake").send().expect(200);
    assert_eq!(machine.versions("fake"), ["1.0.0", "current"]);
}

#[test]
fn a_missing_node_without_a_registry_is_reported_with_instructions() {
    let machine = Machine::new(NO_SERVER).without_runtimes();
    let server = machine.start();
    let problem = hello(&server, "a", "gemini").send().problem(502, "runtime_missing");
    assert!(problem["runtime"].as_str().unwrap().contains("Node.js"), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("SANDBOX_AGENT_NPM_REGISTRY"), "{problem}");
    install(&server, "gemini", &json!({})).send().problem(502, "runtime_missing");
    assert_eq!(server.summary("a"), None);
    let printed = machine.run(&["install", "gemini"]).failed();
    assert!(printed.contains("SANDBOX_AGENT_NPM_REGISTRY"), "{printed}");
}

#[test]
fn no_step_of_an_install_and_no_agent_sees_the_servers_token() {
    let machine = Machine::new(NO_SERVER);
    let seen = machine.folder().join("seen");
    let note = format!(
        "echo \"${{SANDBOX_AGENT_TOKEN-none}} ${{SANDBOX_AGENT_TOKEN_FILE-none}}\" >> '{}'",
        seen.display()
    );
    let depot = Depot::with_fake(&crate::support::agent::script_after(&note, "1.0.0"));
    let token_file = machine.folder().join("token");
    std::fs::write(&token_file, "open-sesame").unwrap();
    let machine = machine.with("SANDBOX_AGENT_ACP_REGISTRY_URL", &depot.registry());
    let server = machine.server().env("SANDBOX_AGENT_TOKEN_FILE", token_file.to_str().unwrap()).start();
    let allowed = |request: test_harness::Request| request.header("Authorization", "Bearer open-sesame");
    allowed(hello(&server, "a", "fake")).send().expect(200);
    allowed(server.request("GET", "/v1/agents/fake?config=true")).send().expect(200);
    // The agent starts three times: to verify the install, as the instance, and to probe.
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "none none\n".repeat(3));
    drop(server);
    let server = machine.server().env("SANDBOX_AGENT_TOKEN", "open-sesame").start();
    allowed(hello(&server, "a", "fake")).send().expect(200);
    allowed(install(&server, "fake", &json!({"reinstall": true}))).send().expect(200);
    allowed(server.request("GET", "/v1/agents/fake?config=true")).send().expect(200);
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "none none\n".repeat(6));
}

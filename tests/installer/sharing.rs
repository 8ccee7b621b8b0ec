//! Concurrent requests for the same agent share one install.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::depot::FAKE;
use crate::support::{Depot, Machine, ask, hello, install, script, show};
use test_harness::eventually;

#[test]
fn twenty_first_posts_on_twenty_server_ids_cause_one_download_and_twenty_instances() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let gate = depot.hold(FAKE);
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let ids: Vec<String> = (0..20).map(|n| format!("s{n}")).collect();
    let posts: Vec<_> = ids.iter().map(|id| hello(&server, id, "fake").start()).collect();
    for id in &ids {
        server.wait_for(id, "it starts", |summary| summary["status"] == "starting");
    }
    gate.open();
    for post in posts {
        assert_eq!(post.join().unwrap().expect(200).json()["result"]["agentInfo"]["version"], "1.0.0");
    }
    let processes: BTreeSet<u32> = ids.iter().map(|id| server.agent_process(id).pid).collect();
    assert_eq!(processes.len(), 20);
    assert_eq!(depot.requests(FAKE), 1);
    assert_eq!(machine.versions("fake"), ["1.0.0", "current"]);
}

#[test]
fn two_servers_with_one_data_directory_install_once() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let gate = depot.hold(FAKE);
    let machine = Machine::new(&depot.registry());
    let servers = [machine.start(), machine.start()];
    let first = hello(&servers[0], "a", "fake").start();
    depot.wait_for_download();
    let second = hello(&servers[1], "a", "fake").start();
    eventually("the second server waits for the first", || {
        (show(&servers[1], "fake")["install"]["step"] == "wait_for_lock").then_some(())
    });
    gate.open();
    first.join().unwrap().expect(200);
    second.join().unwrap().expect(200);
    assert_eq!(depot.requests(FAKE), 1);
    assert_eq!(machine.versions("fake"), ["1.0.0", "current"]);
    let paths = servers.each_ref().map(|server| ask(server, "a", 2, "where"));
    assert_eq!(paths[0], paths[1]);
    assert_eq!(
        servers.each_ref().map(|server| show(server, "fake")["install"]["state"].clone()),
        [json!("installed"), json!("installed")]
    );
}

#[test]
fn an_agent_installed_by_the_command_line_is_available_to_a_running_server() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let machine = Machine::new(&depot.registry());
    let server = machine.server().switch("--require-preinstall").start();
    hello(&server, "a", "fake").send().problem(409, "agent_not_installed");
    machine.run(&["install", "fake"]).done();
    hello(&server, "a", "fake").send().expect(200);
    assert_eq!(show(&server, "fake")["install"]["state"], "installed");
}

#[test]
fn concurrent_installs_share_one_download() {
    let depot = Depot::with_fake(&script("1.0.0"));
    let gate = depot.hold(FAKE);
    let machine = Machine::new(&depot.registry());
    let server = machine.start();
    let lazy = hello(&server, "a", "fake").start();
    depot.wait_for_download();
    let explicit: Vec<_> = (0..5).map(|_| install(&server, "fake", &json!({})).start()).collect();
    gate.open();
    lazy.join().unwrap().expect(200);
    for one in explicit {
        let outcome = one.join().unwrap().expect(200).json();
        assert_eq!(outcome["artifacts"][0]["version"], "1.0.0");
    }
    assert_eq!(depot.requests(FAKE), 1);
}

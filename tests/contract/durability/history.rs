//! The history of closed instances.

use serde_json::{Value, json};

use test_harness::{Server, eventually};

use super::{Home, kill};

fn listed(server: &Server, status: &str) -> Vec<Value> {
    let list = server.request("GET", "/v1/acp").query("status", status).send().expect(200).json();
    list["servers"].as_array().unwrap().clone()
}

#[test]
fn a_closed_instance_is_listed_as_history_and_its_journal_can_be_read() {
    let home = Home::new();
    let server = home.server().start();
    server.open("a", "fault");
    server.tell("a", "emit", json!({"count": 3}));
    server.delete("a").send().expect(204);
    let check = |server: &Server| {
        assert!(listed(server, "current").is_empty());
        let all = listed(server, "all");
        assert_eq!((all.len(), &all[0]["status"], &all[0]["agent"]), (1, &json!("closed"), &json!("fault")));
        let events = server.get("a").query("view", "journal").stream().rest();
        let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names.iter().filter(|name| **name == "message").count(), 5, "{names:?}");
        assert_eq!(names.last(), Some(&"exit"));
        assert!(names.contains(&"sent"));
        let exit = events.last().unwrap().id.clone().unwrap();
        let rest = server.get("a").query("view", "journal").header("Last-Event-ID", &exit);
        rest.header("Accept", "text/event-stream").send().expect(204);
        // All other requests answer as if the instance did not exist.
        server.get("a").header("Accept", "text/event-stream").send().problem(404, "unknown_server");
    };
    check(&server);
    kill(server);
    check(&home.server().start());
}

#[test]
fn deleting_the_history_unlinks_it() {
    let home = Home::new();
    let server = home.server().start();
    for _ in 0..2 {
        server.open("a", "fault");
        server.delete("a").send().expect(204);
    }
    server.open("b", "fault");
    server.delete("b").send().expect(204);
    assert_eq!(listed(&server, "all").len(), 2, "one entry per name");
    server.delete("a").query("history", "delete").send().expect(204);
    let names = || listed(&server, "all").iter().map(|one| one["serverId"].clone()).collect::<Vec<_>>();
    assert_eq!(names(), [json!("b")]);
    eventually("the files are gone", || {
        let kept = std::fs::read_dir(home.journal().join("streams")).unwrap().count();
        (kept == 1).then_some(())
    });
    server.delete("b").query("history", "burn").send().problem(400, "invalid_parameter");
    server.request("GET", "/v1/acp").query("status", "old").send().problem(400, "invalid_parameter");
}

#[test]
fn retention_removes_the_oldest_segments_and_readers_receive_a_gap() {
    let home = Home::new();
    let server =
        home.server().flag("--journal-instance-bytes", "2MiB").flag("--replay-bytes", "100000").start();
    server.open("a", "fault");
    let hello = server.stream("a").next().number();
    server.tell("a", "emit", json!({"count": 600, "bytes": 20_000}));
    eventually("retention has run", || {
        let mut resumed = server.get("a").header("Last-Event-ID", &hello.to_string()).stream();
        (resumed.next().name == "gap").then_some(())
    });
    let mut resumed = server.get("a").header("Last-Event-ID", &hello.to_string()).stream();
    let gap = resumed.next().json();
    assert_eq!(gap["after"], hello);
    assert_eq!(resumed.next().number(), gap["next"].as_u64().unwrap());
}

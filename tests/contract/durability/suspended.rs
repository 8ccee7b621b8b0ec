//! A journal that cannot be written: the instance continues in memory, reports that, and later uses its journal
//! again.

use serde_json::json;

use test_harness::rpc::{call, notification};
use test_harness::{Server, eventually};

use super::{Home, kill, limit_files, limitable};

fn status(server: &Server) -> String {
    let health = server.request("GET", "/v1/health").send().expect(200).json();
    health["journal"]["status"].as_str().unwrap().to_owned()
}

#[test]
fn an_instance_goes_on_in_memory_while_its_journal_cannot_be_written_and_comes_back_to_it() {
    let home = Home::new();
    let server = limitable(home.server()).start();
    server.open("a", "fault");
    let mut stream = server.stream("a");
    let hello = stream.next().number();
    limit_files(&server, "4096");
    let answer = server.post("a", call(1, "emit", json!({"count": 50, "bytes": 1000}))).start();
    let events = stream.up_to(|event| event.name == "journal_suspended");
    assert!(events.last().unwrap().json()["reason"].is_string());
    answer.join().unwrap().expect(200);
    assert_eq!(status(&server), "suspended");
    let metrics = server.request("GET", "/metrics").send().expect(200).text().to_owned();
    assert!(metrics.contains("sandbox_agent_journal_suspended 1"), "{metrics}");

    server.post("a", notification("received", json!({}))).send().expect(202);
    limit_files(&server, "unlimited");
    stream.up_to(|event| event.name == "journal_resumed");
    eventually("the journal is on again", || (status(&server) == "on").then_some(()));
    server.tell("a", "emit", json!({"count": 2, "bytes": 10}));
    kill(server);

    // For readers of the next server, events that were not written are a gap.
    let server = home.server().start();
    let events = server.get("a").header("Last-Event-ID", &hello.to_string()).stream().rest();
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    assert!(names.contains(&"gap"), "{names:?}");
    assert_eq!(names.last(), Some(&"exit"));
    assert!(names.contains(&"journal_resumed"), "{names:?}");
    let both = server.get("a").query("view", "journal").stream().rest();
    let names: Vec<_> = both.iter().map(|event| event.name.as_str()).collect();
    let gap = names.iter().position(|name| *name == "gap").expect("there is a gap");
    assert_eq!(names[gap + 1], "journal_resumed", "{names:?}");
}

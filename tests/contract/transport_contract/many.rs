//! GET /v1/acp as a stream: many instances on one connection, with one cursor for all.

use serde_json::json;

use test_harness::rpc::call;
use test_harness::{Event, Request, Server};

fn many(server: &Server) -> Request {
    server.request("GET", "/v1/acp").header("Accept", "text/event-stream")
}

fn is_about(event: &Event, server_id: &str) -> bool {
    event.json()["serverId"] == server_id
}

#[test]
fn the_first_event_lists_the_instances() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = many(&server).stream();
    let instances = stream.next();
    assert_eq!(instances.name, "instances");
    let servers = instances.json()["servers"].clone();
    assert_eq!((&servers[0]["serverId"], &servers[0]["status"]), (&json!("a"), &json!("running")));
}

#[test]
fn messages_of_all_instances_arrive_on_one_connection_each_with_its_server_id_and_number() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    let numbers = ["a", "b"].map(|id| server.stream(id).next().number());
    let mut stream = many(&server).stream();
    for (id, number) in ["a", "b"].into_iter().zip(numbers) {
        let event = stream.until(|event| event.name == "message");
        let data = event.json();
        assert_eq!((&data["serverId"], &data["event"]), (&json!(id), &json!(number)));
        assert_eq!(data["data"]["id"], "hello");
        assert!(data["atMs"].as_u64().is_some());
        assert!(event.id.as_deref().is_some_and(|id| id.starts_with('j')));
    }
}

#[test]
fn payloads_are_the_agents_bytes() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = many(&server).query("replay", "none").stream();
    let line = r#"{"z":12345678901234567890123, "method":"n","jsonrpc":"2.0","a":1.0}"#;
    server.tell("a", "raw", json!({"text": format!("{line}\n")}));
    let event = stream.until(|event| event.name == "message");
    assert!(event.data.ends_with(&format!("\"data\":{line}}}")), "{}", event.data);
}

#[test]
fn opened_and_closed_instances_are_announced() {
    let server = Server::start();
    let mut stream = many(&server).stream();
    assert_eq!(stream.next().json(), json!({"servers": []}));
    server.open("a", "fault");
    let opened = stream.next();
    assert_eq!((opened.name.as_str(), opened.json()), ("opened", json!({"serverId": "a", "agent": "fault"})));
    server.delete("a").send().expect(204);
    stream.until(|event| event.name == "exit" && is_about(event, "a"));
    let closed = stream.until(|event| event.name == "closed");
    assert!(is_about(&closed, "a"));
}

#[test]
fn server_parameters_select_the_instances_including_future_ones() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = many(&server).query("server", "b").query("server", "c").stream();
    assert_eq!(stream.next().json(), json!({"servers": []}));
    server.open("b", "fault");
    server.tell("a", "echo", json!({}));
    server.open("c", "fault");
    let events = stream.up_to(|event| event.name == "message" && is_about(event, "c"));
    assert!(!events.iter().any(|event| is_about(event, "a")));
    assert!(events.iter().any(|event| event.name == "message" && is_about(event, "b")));
    many(&server).query("server", "-bad").send().problem(400, "invalid_server_id");
}

#[test]
fn one_cursor_resumes_all_instances() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    for _ in 0..5 {
        server.tell("a", "emit", json!({"count": 3}));
        server.tell("b", "emit", json!({"count": 3}));
    }
    server.post("b", call("end", "echo", json!({}))).send().expect(200);
    let is_end = |event: &Event| event.json()["data"]["id"] == "end";
    let messages = |events: Vec<Event>| -> Vec<_> {
        events.into_iter().filter(|event| event.name == "message").collect()
    };
    let all = messages(many(&server).stream().up_to(is_end));
    for cut in [0, 1, 7, all.len() / 2, all.len() - 2] {
        let cursor = all[cut].id.clone().unwrap();
        let mut resumed = many(&server).header("Last-Event-ID", &cursor).stream();
        assert_eq!(resumed.next().name, "instances");
        assert_eq!(messages(resumed.up_to(is_end)), all[cut + 1..], "after {cut}");
    }
    many(&server).header("Last-Event-ID", "17").send().problem(400, "invalid_cursor");
}

#[test]
fn evicted_events_of_one_instance_are_a_gap_of_that_instance() {
    let server = Server::with().flag("--journal", "off").flag("--replay-events", "5").start();
    server.open("a", "fault");
    server.open("b", "fault");
    let cursor = many(&server).stream().until(|event| event.name == "message").id.unwrap();
    server.tell("a", "emit", json!({"count": 30}));
    let mut resumed = many(&server).header("Last-Event-ID", &cursor).stream();
    let gap = resumed.until(|event| event.name == "gap");
    assert!(is_about(&gap, "a"), "{gap:?}");
}

#[test]
fn the_journal_view_works_for_many_too() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = many(&server).query("view", "journal").stream();
    let sent = stream.until(|event| event.name == "sent");
    assert!(is_about(&sent, "a") && sent.json()["data"]["id"] == "hello");
}

#[test]
fn bursts_of_two_instances_reach_one_reader_completely_and_in_order() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    let mut stream = many(&server).query("replay", "none").stream();
    let bursts = ["a", "b"]
        .map(|id| server.post(id, call("done", "emit", json!({"count": 2000, "bytes": 100}))).start());
    let mut next = std::collections::HashMap::from([("a".to_owned(), 0), ("b".to_owned(), 0)]);
    let mut finished = 0;
    while finished < 2 {
        let event = stream.next();
        let data = event.json();
        if event.name != "message" {
            assert_eq!(event.name, "instances");
        } else if data["data"]["id"] == "done" {
            finished += 1;
        } else {
            let expected = next.get_mut(data["serverId"].as_str().unwrap()).unwrap();
            assert_eq!(data["data"]["params"]["index"], *expected);
            *expected += 1;
        }
    }
    assert!(next.values().all(|count| *count == 2000));
    for burst in bursts {
        burst.join().unwrap().expect(200);
    }
}

#[test]
fn instances_opened_and_closed_while_a_reader_was_away_are_announced_when_it_resumes() {
    let server = Server::start();
    server.open("a", "fault");
    let cursor = many(&server).stream().until(|event| event.name == "message").id.unwrap();
    server.open("b", "fault");
    server.delete("b").send().expect(204);
    server.delete("a").send().expect(204);
    let mut resumed = many(&server).header("Last-Event-ID", &cursor).stream();
    resumed.until(|event| event.name == "opened" && is_about(event, "b"));
    resumed.until(|event| event.name == "closed" && is_about(event, "b"));
    resumed.until(|event| event.name == "closed" && is_about(event, "a"));
}

#[test]
fn a_stalled_reader_of_many_receives_every_gap_and_slows_no_other() {
    let server = Server::with().flag("--journal", "off").flag("--replay-events", "300").start();
    server.open("a", "fault");
    server.open("b", "fault");
    let mut stalled = many(&server).stream();
    stalled.next();
    server.post("a", call("done", "emit", json!({"count": 20_000, "bytes": 1000}))).send().expect(200);
    let (mut last, mut holes) = (None, 0);
    loop {
        let event = stalled.next();
        let data = event.json();
        if event.name == "gap" && data["serverId"] == "a" {
            last = None;
            holes += 1;
        } else if event.name == "message" && data["serverId"] == "a" {
            let number = data["event"].as_u64().unwrap();
            assert!(last.is_none_or(|last: u64| number == last + 1), "{last:?} then {number} without a gap");
            last = Some(number);
            if data["data"]["id"] == "done" {
                break;
            }
        }
    }
    assert!(holes > 0, "20,000 events through a window of 300");
}

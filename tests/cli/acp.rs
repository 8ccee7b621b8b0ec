//! `acp`: instances and raw messages.

use serde_json::{Value, json};

use crate::support::{Cutter, Place};
use test_harness::rpc::{call, notification};
use test_harness::{Server, eventually};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

#[test]
fn a_message_is_posted_and_its_answer_printed_unchanged() {
    let server = Server::start();
    let place = Place::of(&server);
    let answer = place.run(&["acp", "post", "one", HELLO, "--agent", "mock"]).done();
    assert!(answer.output.starts_with(r#"{"jsonrpc":"2.0","#), "{}", answer.output);
    assert_eq!(answer.json()["result"]["protocolVersion"], 1);
    let list = call(2, "session/list", json!({}));
    place.file("list.json", &list);
    for arguments in [&["acp", "post", "one", "@list.json"][..], &["acp", "post", "one", &list]] {
        assert!(place.run(arguments).done().json()["result"]["sessions"].is_array());
    }
    let piped = place.run_with_input(&list, &["acp", "post", "one", "-"]).done();
    assert!(piped.json()["result"]["sessions"].is_array());
    let silent = place.run(&["acp", "post", "one", &list, "--async"]).done();
    assert_eq!(silent.output, "", "the answer must be on the stream only");
    let cancel = notification("session/cancel", json!({"sessionId": "none"}));
    assert_eq!(place.run(&["acp", "post", "one", &cancel]).done().output, "");
    place.run(&["acp", "post", "two", HELLO]).exits(1).says("400");
    place.run(&["acp", "post", "one", "{"]).exits(1).says("400");
    place.run(&["acp", "post", "two", HELLO, "--agent", "nobody"]).exits(3);
}

#[test]
fn waiting_for_an_answer_is_limited_by_the_flag() {
    let server = Server::start();
    let place = Place::of(&server);
    server.open("f", "fault");
    let never = call("n", "never", json!({}));
    place.run(&["acp", "post", "f", &never, "--wait", "1"]).exits(1).says("504");
}

#[test]
fn instances_are_listed_and_closed() {
    let server = Server::start();
    let place = Place::of(&server);
    assert_eq!(place.run(&["acp", "list"]).done().output, "");
    server.open("a", "mock");
    server.open("b", "mock");
    let text = place.run(&["acp", "list"]).done().output;
    let columns = |line: &str| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).count();
    assert!(text.starts_with("INSTANCE  AGENT  STATUS   PID "), "{text}");
    assert!(text.lines().any(|line| line.starts_with("a         mock   running  ")), "{text}");
    assert!(text.lines().all(|line| columns(line) == 7), "{text}");
    let list = place.run(&["acp", "list", "--json"]).done().json();
    assert_eq!(list["servers"].as_array().unwrap().len(), 2);
    place.run(&["acp", "close", "a", "b", "never-there"]).done();
    assert_eq!(place.run(&["acp", "list", "--json"]).done().json(), json!({"servers": []}));
}

fn lines(server: &Server, place: &Place, arguments: &[&str]) -> Vec<Value> {
    let running = place.begin(&[&["acp", "stream", "--json"], arguments].concat());
    eventually("it streams", || running.output().contains("protocolVersion").then_some(()));
    server.delete("one").send().expect(204);
    running.end().done().json_lines()
}

#[test]
fn a_stream_prints_every_event_until_the_agent_exits() {
    let server = Server::start();
    let place = Place::of(&server);
    server.open("one", "mock");
    let events = lines(&server, &place, &["one"]);
    assert_eq!(events[0]["data"]["result"]["protocolVersion"], 1);
    assert!(events[0]["id"].as_str().unwrap().parse::<u64>().is_ok());
    assert_eq!(events.last().unwrap()["event"], "exit");
    place.run(&["acp", "stream", "one"]).exits(3).says("no instance has the id one");
    server.open("one", "mock");
    let journal = lines(&server, &place, &["one", "--journal"]);
    assert_eq!((&journal[0]["event"], &journal[1]["event"]), (&json!("sent"), &json!("message")));
    assert!(journal[0]["id"].as_str().unwrap().starts_with('j') && journal[0]["atMs"].is_u64());
}

#[test]
fn a_stream_continues_from_a_given_cursor() {
    let server = Server::start();
    let place = Place::of(&server);
    server.open("one", "mock");
    let first = server.stream("one").next().id.unwrap();
    server.tell("one", "session/list", json!({}));
    let running = place.begin(&["acp", "stream", "one", "--from", &first]);
    eventually("it streams", || running.output().contains("sessions").then_some(()));
    server.delete("one").send().expect(204);
    let text = running.end().done().output;
    assert!(!text.contains("protocolVersion"), "{text}");
    assert!(text.lines().next().unwrap().contains(" message {"), "{text}");
    server.open("two", "mock");
    place.run(&["acp", "stream", "two", "--from", "nonsense"]).exits(1).says("400");
}

#[test]
fn all_instances_can_be_watched_at_once() {
    let server = Server::start();
    let place = Place::of(&server);
    server.open("one", "mock");
    let running = place.begin(&["acp", "stream", "--json"]);
    eventually("it streams", || running.output().contains("protocolVersion").then_some(()));
    server.open("two", "mock");
    eventually("the second is printed", || running.output().contains(r#""serverId":"two""#).then_some(()));
}

#[test]
fn a_stream_survives_broken_connections_without_losing_or_repeating_an_event() {
    let server = Server::start();
    let place = Place::of(&server);
    server.open("one", "mock");
    let cutter = Cutter::before(server.port, 8_000);
    let running = place.begin(&["acp", "stream", "one", "--json", "--url", &cutter.url]);
    let session =
        server.tell("one", "session/new", json!({"cwd": "/", "mcpServers": []}))["sessionId"].clone();
    // The events of an agent that has exited stay readable, so the end of the stream cannot be missed.
    for text in ["stream 200 200", "exit 0"] {
        server.tell(
            "one",
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
        );
    }
    let events = running.end().done().json_lines();
    let ids: Vec<u64> = events.iter().map(|event| event["id"].as_str().unwrap().parse().unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
    assert!(events.len() > 200 && cutter.cuts() >= 3, "{} events, {} cuts", events.len(), cutter.cuts());
    assert_eq!(events.last().unwrap()["event"], "exit");
}

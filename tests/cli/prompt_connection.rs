//! A prompt loses nothing and repeats nothing, however often its connection is cut.

use serde_json::Value;

use crate::support::{Cutter, Place};
use test_harness::Server;

fn texts(lines: &[Value]) -> Vec<String> {
    let updates = lines.iter().filter(|line| line["type"] == "update").map(|line| &line["update"]);
    let chunks = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    chunks.map(|update| update["content"]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_chunk_arrives_once_and_in_order_over_broken_connections() {
    let server = Server::start();
    let place = Place::of(&server);
    let whole = texts(&place.run(&["prompt", "mock", "stream 400 100", "--json"]).done().json_lines());
    assert_eq!(whole.len(), 400);
    let cutter = Cutter::before(server.port, 20_000);
    let broken = place.run(&["prompt", "mock", "stream 400 100", "--json", "--url", &cutter.url]).done();
    assert_eq!(texts(&broken.json_lines()), whole);
    assert!(cutter.cuts() >= 3, "it was cut {} times", cutter.cuts());
}

#[test]
fn a_large_answer_arrives_completely() {
    let place = Place::new();
    let printed = place.run(&["prompt", "mock", "big 3000000"]).done();
    assert_eq!(printed.output.trim_end().len(), 3_000_000);
}

#[test]
fn a_server_that_stops_during_a_turn_ends_the_prompt() {
    let mut server = Server::start();
    let place = Place::of(&server);
    let running = place.begin(&["prompt", "mock", "forever"]);
    test_harness::eventually("it streams", || running.output().contains("tick").then_some(()));
    server.process.signal("TERM");
    server.wait_for_end(std::time::Duration::from_secs(15));
    let ended = running.end();
    assert!(matches!(ended.code, Some(1 | 5 | 6)), "{:?} {}", ended.code, ended.errors);
    assert!(!ended.errors.is_empty());
}

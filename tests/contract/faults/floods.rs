//! Agents that send more than clients read.

use serde_json::{Value, json};

use test_harness::rpc::call;
use test_harness::{Event, Server, Stream};

/// Reads a stream from a sequence number up to the answer to `id`, and checks that every hole in the numbers
/// is announced by a gap. Returns how many messages were received and how many were lost.
#[track_caller]
fn account(stream: &mut Stream, after: u64, id: &Value) -> (u64, u64) {
    let (mut seen, mut came, mut gone) = (after, 0, 0);
    loop {
        let event: Event = stream.next();
        if event.name == "gap" {
            let gap = event.json();
            assert_eq!(gap["after"], seen, "a gap must begin at the reader's position");
            let next = gap["next"].as_u64().unwrap();
            assert!(next > seen + 1, "an empty gap: {gap}");
            gone += next - seen - 1;
            seen = next - 1;
            continue;
        }
        let number = event.number();
        assert_eq!(number, seen + 1, "{} numbers are missing without a gap", number - seen - 1);
        seen = number;
        came += 1;
        if event.answers(id) {
            return (came, gone);
        }
    }
}

#[test]
fn a_reader_that_stalls_during_a_burst_of_20_000_events_loses_no_retained_event() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stalled = server.stream("a");
    let hello = stalled.next().number();
    server.post("a", call(1, "emit", json!({"count": 20_000, "bytes": 200}))).send().expect(200);
    assert_eq!(account(&mut stalled, hello, &json!(1)), (20_001, 0));
}

#[test]
fn a_reader_that_stalls_beyond_the_retained_events_receives_a_gap_for_every_hole() {
    let server = Server::with()
        .flag("--journal", "off")
        .flag("--replay-events", "1000")
        .flag("--replay-bytes", "1MiB")
        .start();
    server.open("a", "fault");
    let mut stalled = server.stream("a");
    let hello = stalled.next().number();
    server.post("a", call(1, "emit", json!({"count": 20_000, "bytes": 1000}))).send().expect(200);
    let (came, gone) = account(&mut stalled, hello, &json!(1));
    assert_eq!(came + gone, 20_001);
    assert!(gone > 0, "more was retained than the limits allow");
}

#[test]
fn a_stalled_reader_slows_neither_the_agent_nor_another_reader() {
    let server = Server::with().flag("--replay-bytes", "1MiB").start();
    server.open("a", "fault");
    let stalled: Vec<_> = (0..5).map(|_| server.get("a").write()).collect();
    let mut reader = server.stream("a");
    let hello = reader.next().number();
    let burst = server.post("a", call(1, "emit", json!({"count": 20_000, "bytes": 1000}))).start();
    let (came, gone) = account(&mut reader, hello, &json!(1));
    assert_eq!(came + gone, 20_001);
    burst.join().unwrap().expect(200);
    drop(stalled);
}

#[test]
fn a_stalled_journal_watcher_receives_gaps() {
    let server = Server::with().flag("--journal", "off").flag("--replay-events", "500").start();
    server.open("a", "fault");
    let mut watcher = server.get("a").query("view", "journal").stream();
    watcher.next();
    server.post("a", call(1, "emit", json!({"count": 20_000, "bytes": 1000}))).send().expect(200);
    let events = watcher.up_to(|event| event.name == "message" && event.answers(&json!(1)));
    assert!(events.iter().any(|event| event.name == "gap"), "20,000 events through a window of 500");
}

#[test]
fn requests_are_answered_in_the_middle_of_a_burst() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    let burst = server.post("a", call(1, "emit", json!({"count": 20_000, "bytes": 2000}))).start();
    for _ in 0..20 {
        server.tell("b", "echo", json!({}));
    }
    burst.join().unwrap().expect(200);
}

#[test]
fn an_agent_request_that_a_stalled_reader_missed_follows_the_gap() {
    let server = Server::with().flag("--replay-events", "200").start();
    server.open("a", "fault");
    let mut stalled = server.stream("a");
    stalled.next();
    let emit = || server.tell("a", "emit", json!({"count": 10_000, "bytes": 1000}));
    emit();
    server.tell("a", "ask", json!({"id": "q", "method": "session/request_permission", "params": {}}));
    emit();
    let question = stalled.until(|event| event.is_call_of("session/request_permission"));
    assert_eq!(question.json()["id"], "q");
    // It must be sent only once, although it is open and, for a moment, also in the buffer.
    server.post("a", call("end", "echo", json!({}))).send().expect(200);
    let rest = stalled.up_to(|event| event.answers(&json!("end")));
    assert_eq!(rest.iter().filter(|event| event.is_call_of("session/request_permission")).count(), 0);
}

#[test]
fn delete_during_a_flood_finishes_in_time_and_is_reported_to_the_reader() {
    let server = Server::start();
    server.open("a", "fault");
    let mut reader = server.stream("a");
    let emit = server.post("a", call(1, "emit", json!({"count": 100_000_000, "bytes": 500}))).start();
    reader.until(|event| event.is_call_of("burst"));
    server.delete("a").send().expect(204);
    emit.join().unwrap().problem(502, "instance_closed");
    assert_eq!(reader.rest().last().unwrap().name, "exit");
}

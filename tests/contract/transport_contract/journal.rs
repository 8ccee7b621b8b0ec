//! GET with `?view=journal`: both directions in one order.

use serde_json::json;

use test_harness::rpc::{call, notification, response};
use test_harness::{Event, Server, Stream};

fn journal(server: &Server, cursor: Option<&str>) -> Stream {
    let request = server.get("a").query("view", "journal");
    cursor.map_or(request.clone(), |cursor| request.header("Last-Event-ID", cursor)).stream()
}

fn number(event: &Event) -> u64 {
    let id = event.id.as_deref().expect("every event of the journal has an id");
    id.strip_prefix('j').expect("it starts with a j").parse().expect("it is a number")
}

#[test]
fn the_journal_has_both_directions_in_one_order_each_event_with_a_cursor() {
    let server = Server::start();
    server.open("a", "fault");
    let first = r#"{"jsonrpc":"2.0", "id":1,"method":"echo","params":{"z":1.0,"a":2}}"#;
    server.post("a", first).send().expect(200);
    server.post("a", notification("received", json!({}))).send().expect_accepted();
    let mut watcher = journal(&server, None);
    let events: Vec<_> = (0..6).map(|_| watcher.next()).collect();
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["sent", "message", "sent", "message", "sent", "message"]);
    assert_eq!(events[2].data, first, "the client's bytes");
    assert!(events.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])));
    // A comment has the time, and the number on the stream if there is one.
    assert!(events.iter().all(|event| event.comments.iter().any(|comment| comment.starts_with("at "))));
    assert!(events[1].comments[0].contains("event "), "{:?}", events[1].comments);
}

#[test]
fn a_journal_cursor_resumes_right_after_it() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "emit", json!({"count": 5}));
    let mut watcher = journal(&server, None);
    let all: Vec<_> = (0..9).map(|_| watcher.next()).collect();
    for (index, event) in all.iter().enumerate().take(8) {
        let mut resumed = journal(&server, event.id.as_deref());
        assert_eq!(resumed.next(), all[index + 1]);
    }
}

#[test]
fn a_cursor_from_the_other_view_is_400() {
    let server = Server::start();
    server.open("a", "fault");
    let number = server.stream("a").next().number().to_string();
    let request = server.get("a").query("view", "journal").header("Last-Event-ID", &number);
    request.send().problem(400, "invalid_cursor");
    server.get("a").query("view", "both").send().problem(400, "invalid_parameter");
}

#[test]
fn the_journal_has_events_other_than_messages_too() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "raw", json!({"text": "noise\n"}));
    server.tell("a", "ask", json!({"id": "q", "method": "m", "params": {}}));
    server.post("a", response("q", json!(1))).send().expect_accepted();
    server
        .post("a", call("n", "never", json!({})))
        .header("Prefer", "respond-async")
        .send()
        .expect_accepted();
    server.post("a", call("x", "exit", json!({"code": 1}))).send().problem(502, "agent_exited");
    let events = journal(&server, None).rest();
    for name in ["sent", "message", "unparsed", "answered", "failed", "exit"] {
        assert!(events.iter().any(|event| event.name == name), "{name} is missing");
    }
    assert!(events.iter().all(|event| event.id.is_some()));
}

#[test]
fn evicted_journal_events_are_announced_as_a_gap() {
    let server = Server::with().flag("--journal", "off").flag("--replay-events", "10").start();
    server.open("a", "fault");
    let cursor = journal(&server, None).next().id.unwrap();
    server.tell("a", "emit", json!({"count": 100}));
    let mut resumed = journal(&server, Some(&cursor));
    assert_eq!(resumed.next().name, "gap");
    assert_eq!(
        journal(&server, Some("j99999999999999999")).next().name,
        "gap",
        "a cursor from another instance"
    );
}

#[test]
fn watching_the_journal_does_not_affect_the_instance() {
    let server = Server::with().flag("--instance-idle-timeout", "400ms").start();
    server.open("a", "fault");
    let mut watcher = journal(&server, None);
    assert_eq!(server.summary("a").unwrap()["readers"], 0, "a watcher is not a reader");
    // A watcher does not prevent the idle timeout either.
    let exit = watcher.until(|event| event.name == "exit");
    assert_eq!(exit.json()["error"], "closed");
}

#[test]
fn refused_messages_are_not_in_the_journal() {
    let server = Server::start();
    server.open("a", "fault");
    server.post("a", call(1, "never", json!({}))).header("Prefer", "respond-async").send().expect_accepted();
    server.post("a", call(1, "echo", json!("dup"))).send().problem(409, "duplicate_request_id");
    server.post("a", call(2, "echo", json!("end"))).send().expect(200);
    let events = journal(&server, None).up_to(|event| event.answers(&json!(2)));
    assert!(!events.iter().any(|event| event.data.contains("dup")));
}

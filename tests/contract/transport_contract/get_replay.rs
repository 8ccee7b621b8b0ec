//! GET: where a reader starts, and that every gap is announced.

use serde_json::json;

use test_harness::rpc::{call, response};
use test_harness::{Event, Server};

/// An instance whose agent has sent `count` numbered notifications.
fn server_with_past(count: u64) -> Server {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "emit", json!({"count": count}));
    server
}

fn index(event: &Event) -> Option<u64> {
    event.is_call_of("burst").then(|| event.json()["params"]["index"].as_u64().unwrap())
}

/// The indexes received up to the answer of a new request.
fn indexes(server: &Server, stream: &mut test_harness::Stream) -> Vec<u64> {
    let mark = format!("mark-{:?}", std::time::Instant::now());
    server.post("a", call(mark.clone(), "echo", json!({}))).send().expect(200);
    stream.up_to(|event| event.answers(&json!(mark))).iter().filter_map(index).collect()
}

#[test]
fn an_unknown_server_id_is_404() {
    let server = Server::start();
    server.get("nobody").send().problem(404, "unknown_server");
}

#[test]
fn accept_must_allow_an_event_stream() {
    let server = server_with_past(0);
    let get = |accept: &str| server.request("GET", "/v1/acp/a").header("Accept", accept);
    get("application/json").send().problem(406, "not_acceptable");
    get("text/event-stream;q=0").send().problem(406, "not_acceptable");
    for good in ["text/event-stream", "*/*", "text/*"] {
        get(good).stream().next();
    }
    server.request("GET", "/v1/acp/a").stream().next();
}

#[test]
fn without_a_cursor_replay_starts_at_the_oldest_retained_message() {
    let server = server_with_past(5);
    let mut stream = server.stream("a");
    assert!(stream.next().answers(&json!("hello")), "a response must be replayed like other messages");
    assert_eq!(indexes(&server, &mut stream), [0, 1, 2, 3, 4]);
}

#[test]
fn a_cursor_of_0_means_no_cursor() {
    let server = server_with_past(3);
    let mut stream = server.get("a").header("Last-Event-ID", "0").stream();
    assert_eq!(indexes(&server, &mut stream), [0, 1, 2]);
}

#[test]
fn replay_none_starts_at_the_newest() {
    let server = server_with_past(5);
    let mut stream = server.get("a").query("replay", "none").stream();
    server.tell("a", "emit", json!({"count": 1, "method": "new"}));
    assert!(stream.next().is_call_of("new"));
    server.get("a").query("replay", "some").send().problem(400, "invalid_parameter");
}

#[test]
fn last_event_id_resumes_right_after_that_number() {
    let server = server_with_past(6);
    let third = server.stream("a").until(|event| index(event) == Some(2));
    let mut stream = server.get("a").header("Last-Event-ID", &third.number().to_string()).stream();
    let next = stream.next();
    assert_eq!((index(&next), next.number()), (Some(3), third.number() + 1));
    assert_eq!(indexes(&server, &mut stream), [4, 5]);
}

#[test]
fn numbers_start_at_the_creation_time_in_microseconds_and_grow_by_one() {
    let before = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
    let server = server_with_past(20);
    let after = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
    let mut stream = server.stream("a");
    let first = stream.next().number();
    assert!((before..=after).contains(&u128::from(first)), "{before} {first} {after}");
    assert!(first < 1 << 53);
    for offset in 1..=20 {
        assert_eq!(stream.next().number(), first + offset);
    }
    assert_eq!(server.summary("a").unwrap()["lastEventId"], first + 21);
}

#[test]
fn an_invalid_cursor_is_400() {
    let server = server_with_past(1);
    for bad in ["abc", "-1", "1.5", "+1", "j5", "12x", "99999999999999999999999999"] {
        server.get("a").header("Last-Event-ID", bad).send().problem(400, "invalid_cursor");
    }
}

#[test]
fn a_cursor_outside_this_instance_gets_a_gap_then_the_retained_messages() {
    let server = server_with_past(2);
    let first = server.stream("a").next().number();
    for foreign in ["1".to_owned(), (first - 1).to_string(), (first + 1000).to_string()] {
        let mut stream = server.get("a").header("Last-Event-ID", &foreign).stream();
        let gap = stream.next();
        assert_eq!((gap.name.as_str(), gap.id.as_deref()), ("gap", None), "{foreign}");
        assert_eq!(gap.json(), json!({"after": foreign.parse::<u64>().unwrap(), "next": first}));
        assert_eq!(stream.next().number(), first);
    }
}

#[test]
fn a_cursor_from_an_earlier_instance_with_the_same_id_gets_a_gap() {
    let server = server_with_past(3);
    let old = server.stream("a").until(|event| index(event) == Some(1)).number();
    server.delete("a").send().expect(204);
    server.open("a", "fault");
    let mut stream = server.get("a").header("Last-Event-ID", &old.to_string()).stream();
    let gap = stream.next();
    assert_eq!((gap.name.as_str(), gap.json()["after"].as_u64()), ("gap", Some(old)));
    let first = stream.next();
    assert!(
        first.answers(&json!("hello")) && first.number() > old,
        "numbers must grow over instances with the same id"
    );
}

#[test]
fn several_readers_each_get_everything() {
    let server = server_with_past(3);
    let mut readers: Vec<_> = (0..8).map(|_| server.stream("a")).collect();
    server.wait_for("a", "all are counted", |summary| summary["readers"] == 8);
    for reader in &mut readers {
        assert_eq!(indexes(&server, reader), [0, 1, 2]);
    }
    drop(readers);
    server.wait_for("a", "all are gone", |summary| summary["readers"] == 0);
}

#[test]
fn replay_is_bounded_by_count_and_evicted_messages_are_announced_as_a_gap() {
    let server = Server::with().flag("--journal", "off").flag("--replay-events", "10").start();
    server.open("a", "fault");
    let first = server.stream("a").next().number();
    server.tell("a", "emit", json!({"count": 50}));
    // 1 hello, 50 notifications, 1 answer: the last ten are retained.
    let mut late = server.stream("a");
    assert_eq!(late.next().number(), first + 42);
    let mut resumed = server.get("a").header("Last-Event-ID", &first.to_string()).stream();
    let gap = resumed.next();
    assert_eq!(gap.name, "gap");
    assert_eq!(gap.json(), json!({"after": first, "next": first + 42}));
    assert_eq!(resumed.next().number(), first + 42);
    // A cursor at a retained message needs no gap.
    let mut close = server.get("a").header("Last-Event-ID", &(first + 41).to_string()).stream();
    assert_eq!(close.next().number(), first + 42);
}

#[test]
fn replay_is_bounded_by_bytes() {
    let server = Server::with().flag("--journal", "off").flag("--replay-bytes", "100000").start();
    server.open("a", "fault");
    server.tell("a", "emit", json!({"count": 50, "bytes": 10_000}));
    let held = {
        let mut stream = server.stream("a");
        indexes(&server, &mut stream)
    };
    assert!(held.len() <= 10 && held.len() >= 8, "{held:?}");
    assert_eq!(held.last(), Some(&49));
}

#[test]
fn an_unanswered_agent_request_is_never_evicted_and_follows_the_gap_before_the_retained_messages() {
    let server = Server::with().flag("--journal", "off").flag("--replay-events", "5").start();
    server.open("a", "fault");
    let first = server.stream("a").next().number();
    server.tell("a", "ask", json!({"id": "q1", "method": "one", "params": {"n": 1}}));
    server.tell("a", "ask", json!({"id": "q2", "method": "two", "params": {"n": 2}}));
    server.tell("a", "emit", json!({"count": 30}));
    // A reader that resumes receives the gap, both requests with their own numbers, then the retained messages.
    let mut resumed = server.get("a").header("Last-Event-ID", &first.to_string()).stream();
    assert_eq!(resumed.next().name, "gap");
    let (one, two, held) = (resumed.next(), resumed.next(), resumed.next());
    assert!(
        one.is_call_of("one") && two.is_call_of("two") && index(&held) == Some(26),
        "{one:?} {two:?} {held:?}"
    );
    assert!(first < one.number() && one.number() < two.number() && two.number() < held.number());
    // A reader that has the first request already receives only the second.
    let mut resumed = server.get("a").header("Last-Event-ID", &one.number().to_string()).stream();
    assert_eq!(resumed.next().name, "gap");
    assert!(resumed.next().is_call_of("two"));
    // A reader without a cursor receives both.
    let mut late = server.stream("a");
    assert!(late.next().is_call_of("one") && late.next().is_call_of("two"));
    // Answered requests are not sent again.
    server.post("a", response("q1", json!({}))).send().expect_accepted();
    assert!(server.stream("a").next().is_call_of("two"));
}

#[test]
fn a_disconnected_client_finds_the_answer_to_its_lost_post_on_the_stream() {
    let server = server_with_past(0);
    let seen = server.stream("a").next().number();
    let connection = server.post("a", call("lost", "slow", json!({"ms": 300}))).write();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    drop(connection);
    let mut stream = server.get("a").header("Last-Event-ID", &seen.to_string()).stream();
    stream.until(|event| event.answers(&json!("lost")));
}

#[test]
fn a_repeatedly_interrupted_and_resumed_stream_loses_and_repeats_nothing() {
    let server = server_with_past(0);
    let emitting = server.post("a", call(1, "emit", json!({"count": 3000, "bytes": 50}))).start();
    let mut seen = Vec::new();
    let mut cursor = "0".to_owned();
    while seen.len() < 3000 {
        let mut stream = server.get("a").header("Last-Event-ID", &cursor).stream();
        for _ in 0..250 {
            if seen.len() == 3000 {
                break;
            }
            let event = stream.next();
            cursor = event.id.clone().expect("every message has a number");
            seen.extend(index(&event));
        }
        stream.cut();
    }
    assert!(seen.iter().copied().eq(0..3000));
    emitting.join().unwrap().expect(200);
}

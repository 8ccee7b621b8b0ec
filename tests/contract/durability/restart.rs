//! A server that was killed or stopped, and the one that follows it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use test_harness::rpc::{call, notification, response};
use test_harness::{Server, eventually};

use super::{Home, kill};

fn resume(server: &Server, id: &str, after: u64) -> test_harness::Stream {
    server.get(id).header("Last-Event-ID", &after.to_string()).stream()
}

#[test]
fn after_a_crash_a_reader_goes_on_without_a_gap_and_learns_that_the_agent_ended() {
    let home = Home::new();
    let server = home.server().start();
    server.open("a", "fault");
    let hello = server.stream("a").next().number();
    server.tell("a", "emit", json!({"count": 30}));
    let sent = server.post("a", call("open", "never", json!({}))).header("Prefer", "respond-async");
    sent.send().expect(202);
    kill(server);

    let server = home.server().start();
    let events = resume(&server, "a", hello).rest();
    let messages = events.iter().filter(|event| event.name == "message").count();
    assert_eq!(messages, 31, "30 notifications and an answer");
    let names: Vec<_> = events[31..].iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["failed", "exit"]);
    assert_eq!(events[31].json()["id"], "open");
    assert_eq!(events[31].json()["problem"]["type"], "urn:sandbox-agent:error:agent_exited");
    assert_eq!(events[31].json()["problem"]["reason"], "server_died");
    assert_eq!(events[32].json()["error"], "server_died");
    assert_eq!(server.summary("a").unwrap()["status"], "exited");
}

#[test]
fn after_a_crash_a_request_starts_the_agent_again_and_numbers_go_on() {
    let home = Home::new();
    let server = home.server().start();
    server.open("a", "fault");
    let hello = server.stream("a").next().number();
    kill(server);

    let server = home.server().start();
    server.post("a", notification("x", json!({}))).send().problem(502, "agent_exited");
    let restarted = server.post("a", call(7, "echo", json!({}))).query("agent", "fault");
    restarted.send().expect(200);
    let events = resume(&server, "a", hello).up_to(|event| event.answers(&json!(7)));
    let numbers: Vec<u64> =
        events.iter().filter(|event| event.id.is_some()).map(|event| event.number()).collect();
    assert!(numbers.is_sorted() && numbers[0] == hello + 1, "{numbers:?}");
    assert!(events.iter().any(|event| event.name == "exit"));
}

#[test]
fn outcomes_of_idempotency_keys_survive() {
    let home = Home::new();
    let server = home.server().start();
    server.open("a", "fault");
    let keyed = |server: &Server, key: &str, id: u32, method: &str| {
        server.post("a", call(id, method, json!({"n": id}))).header("Idempotency-Key", key)
    };
    let first = keyed(&server, "answered", 1, "echo").send().expect(200);
    keyed(&server, "open", 2, "never").header("Prefer", "respond-async").send().expect(202);
    let note = || notification("received", json!({}));
    server.post("a", note()).header("Idempotency-Key", "note").send().expect(202);
    kill(server);

    let server = home.server().start();
    assert_eq!(keyed(&server, "answered", 1, "echo").send().expect(200).body, first.body);
    keyed(&server, "open", 2, "never").send().problem(502, "agent_exited");
    server.post("a", note()).header("Idempotency-Key", "note").send().expect(202);
    keyed(&server, "answered", 9, "echo").send().problem(422, "idempotency_key_reused");
    // None of these started the agent again.
    assert_eq!(server.summary("a").unwrap()["status"], "exited");
}

#[test]
fn a_request_of_the_agent_that_was_answered_or_not_is_history_after_a_crash() {
    let home = Home::new();
    let server = home.server().start();
    server.open("a", "fault");
    server.tell("a", "ask", json!({"id": "q1", "method": "one", "params": {}}));
    server.tell("a", "ask", json!({"id": "q2", "method": "two", "params": {}}));
    server.post("a", response("q1", json!({}))).send().expect(202);
    kill(server);

    let server = home.server().start();
    let summary = server.summary("a").unwrap();
    assert_eq!((&summary["awaiting"], &summary["pendingRequests"]), (&json!([]), &json!(0)));
    let events = server.stream("a").rest();
    assert_eq!(events.iter().filter(|event| event.name == "answered").count(), 1);
    assert_eq!(events.iter().filter(|event| event.is_call_of("two")).count(), 1);
}

#[test]
fn after_an_orderly_stop_the_instances_are_listed_as_exited() {
    let home = Home::new();
    let mut server = home.server().start();
    server.open("a", "fault");
    server.process.signal("TERM");
    server.wait_for_end(test_harness::SOON);
    drop(server);

    let server = home.server().start();
    assert_eq!(server.summary("a").unwrap()["exit"]["error"], "closed");
    server.delete("a").send().expect(204);
    drop(server);
    assert!(home.server().start().summary("a").is_none(), "a closed instance is not listed again");
}

#[test]
fn every_event_arrives_once_and_in_order_however_often_the_server_is_killed() {
    let home = Home::new();
    let (mut last, mut indexes) = (None::<u64>, Vec::new());
    for round in 0..6 {
        let server = home.server().flag("--replay-events", "50").start();
        let first = call(format!("start-{round}"), "echo", json!({}));
        server.post("a", first).query("agent", "fault").send().expect(200);
        let flood = call(round, "emit", json!({"count": 20_000, "bytes": 300}));
        server.post("a", flood).header("Prefer", "respond-async").send().expect(202);
        let mut stream = match last {
            Some(last) => resume(&server, "a", last),
            None => server.stream("a"),
        };
        for _ in 0..500 * (round + 1) {
            let event = stream.next();
            assert_ne!(event.name, "gap", "round {round}");
            if event.id.is_some() {
                let number = event.number();
                assert!(last.is_none_or(|last| number == last + 1), "{last:?} {number} in round {round}");
                last = Some(number);
            }
            if event.is_call_of("burst") {
                indexes.push(event.json()["params"]["index"].as_u64().unwrap());
            }
        }
        kill(server);
    }
    // Within each life of the agent, nothing is missing and nothing comes twice.
    let starts = indexes.iter().filter(|index| **index == 0).count();
    let steps = indexes.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    assert!(starts >= 2 && steps + starts == indexes.len(), "{starts} starts, {steps} steps");
}

#[test]
fn what_memory_no_longer_holds_is_replayed_from_the_journal() {
    let home = Home::new();
    let server = home.server().flag("--replay-events", "10").start();
    server.open("a", "fault");
    let hello = server.stream("a").next().number();
    server.tell("a", "emit", json!({"count": 5000}));
    let after = hello + 1;
    let events = resume(&server, "a", after).up_to(|event| event.number() == hello + 5000);
    assert_eq!(events.len(), 4999);
    let all = server.stream("a").up_to(|event| event.number() == hello + 5000);
    assert_eq!(all.len(), 5001);
    let mut many = server.request("GET", "/v1/acp").header("Accept", "text/event-stream").stream();
    let seen = many.up_to(|event| event.json()["event"] == hello + 5000);
    assert_eq!(seen.iter().filter(|event| event.name == "message").count(), 5001);
    assert!(seen.iter().all(|event| event.name != "gap"));
    let mut journal = server.get("a").query("view", "journal").stream();
    let both = journal.up_to(|event| event.name == "message" && event.is_call_of("burst"));
    assert!(both.iter().any(|event| event.name == "sent"));
}

#[test]
fn a_second_server_runs_without_the_journal_unless_it_was_named() {
    let home = Home::new();
    let first = home.server().start();
    let second = home.server().start();
    let status = |server: &Server| {
        server.request("GET", "/v1/health").send().expect(200).json()["journal"]["status"].clone()
    };
    assert_eq!((status(&first), status(&second)), (json!("on"), json!("locked")));
    eventually("the log says so", || second.log().contains("without a journal").then_some(()));
    let journal = home.journal();
    let (exit, message) = home.server().flag("--journal", &journal.to_string_lossy()).refuse_to_start();
    assert!(!exit.success() && message.contains("another server"), "{message}");
    assert_eq!(status(&home.server().flag("--journal", "off").start()), json!("off"));
}

#[test]
fn only_the_user_can_read_the_journal_and_it_has_no_secrets() {
    let home = Home::new();
    let server = home.server().env("SANDBOX_AGENT_TOKEN", "a-secret-token").start();
    let send = |path: &str, body: String| {
        server
            .request("POST", path)
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer a-secret-token")
            .body(body)
            .send()
    };
    send("/v1/acp/a?agent=fault", call(1, "echo", json!({"text": "findable"}))).expect(200);
    let mut contents = Vec::new();
    visit(&home.journal(), &mut |path, mode| {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode & 0o777, expected, "{}", path.display());
        if path.is_file() {
            contents.extend(std::fs::read(path).unwrap());
        }
    });
    let has = |text: &str| contents.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("findable") && !has("a-secret-token"));
}

fn visit(path: &Path, each: &mut impl FnMut(&Path, u32)) {
    each(path, path.metadata().unwrap().permissions().mode());
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            visit(&entry.unwrap().path(), each);
        }
    }
}

#[test]
fn a_damaged_segment_is_set_aside_and_the_rest_is_served() {
    let home = Home::new();
    let server = home.server().start();
    for id in ["a", "b"] {
        server.open(id, "fault");
        // Many small writes, so that there are some behind the damage.
        for _ in 0..20 {
            server.tell(id, "emit", json!({"count": 5, "bytes": 100}));
        }
    }
    kill(server);
    let damaged = std::fs::read_dir(home.journal().join("streams"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with("-a"))
        .unwrap();
    let segment = std::fs::read_dir(damaged).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].fill(0xff);
    std::fs::write(&segment, bytes).unwrap();

    let server = home.server().start();
    let burst = |id: &str| server.stream(id).rest().iter().filter(|event| event.is_call_of("burst")).count();
    assert!(burst("a") < 100, "the damaged part is gone");
    assert_eq!(burst("b"), 100);
    let log = eventually("the log names the file", || {
        let log = server.log();
        log.contains("set-aside").then_some(log)
    });
    assert!(log.contains("set aside"), "{log}");
}

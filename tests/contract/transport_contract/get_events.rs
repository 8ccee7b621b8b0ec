//! GET: which events are sent, how they are framed, and the events other than messages.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::call;

fn server_with_agent() -> Server {
    let server = Server::start();
    server.open("a", "fault");
    server
}

#[test]
fn every_message_is_a_message_event_with_a_number_and_the_agents_bytes() {
    let server = server_with_agent();
    let mut stream = server.get("a").query("replay", "none").stream();
    for line in [
        r#"{"jsonrpc":"2.0","method":"n","params":{"z":1,"a":[12345678901234567890123,1.0e5,-0]}}"#,
        r#"  {"b":"\u00e9\/","method":"n" , "jsonrpc":"2.0","a":null}"#,
        r#"{"jsonrpc":"2.0","id":"r","method":"request","params":"😀"}"#,
        r#"{"jsonrpc":"2.0","id":"unasked","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#,
    ] {
        server.tell("a", "raw", json!({"text": format!("{line}\n")}));
        let event = stream.next();
        assert_eq!((event.name.as_str(), event.data.as_str()), ("message", line));
        assert!(event.number() > 0);
        stream.next();
    }
}

#[test]
fn the_stream_has_the_headers_that_prevent_proxy_buffering() {
    let server = server_with_agent();
    let mut stream = server.stream("a");
    assert_eq!(stream.headers.get("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(stream.headers.get("x-accel-buffering"), Some("no"));
    assert_eq!(stream.comment(), "connected", "the first byte must be sent at once");
}

#[test]
fn a_silent_stream_has_a_heartbeat_comment_every_15_seconds() {
    let server = server_with_agent();
    let mut stream = server.get("a").query("replay", "none").stream();
    assert_eq!(stream.comment(), "connected");
    let started = std::time::Instant::now();
    assert_eq!(stream.comment(), "heartbeat");
    assert!(started.elapsed().as_secs_f64() >= 14.0, "{:?}", started.elapsed());
}

#[test]
fn agent_lines_end_at_lf_only_and_raw_cr_becomes_a_space() {
    let server = server_with_agent();
    let mut stream = server.get("a").query("replay", "none").stream();
    let text =
        "{\"jsonrpc\":\"2.0\",\r\"method\":\"one\"}\r\n{\"jsonrpc\":\"2.0\",\"method\":\"two\"}\r\n\r\n\n";
    server.tell("a", "raw", json!({"text": text}));
    let (one, two) = (stream.next(), stream.next());
    assert_eq!(one.data, r#"{"jsonrpc":"2.0", "method":"one"}"#);
    assert_eq!(two.data, r#"{"jsonrpc":"2.0","method":"two"}"#);
    // Empty lines are ignored, so the answer is next.
    assert_eq!(stream.next().name, "message");
}

#[test]
fn an_invalid_line_is_an_unparsed_event_in_order_without_a_number() {
    let server = server_with_agent();
    let mut stream = server.get("a").query("replay", "none").stream();
    let before = "{\"jsonrpc\":\"2.0\",\"method\":\"before\"}\n";
    let after = "{\"jsonrpc\":\"2.0\",\"method\":\"after\"}\n";
    server.tell(
        "a",
        "raw",
        json!({"text": format!("{before}Loading model...\n{{\"level\":\"info\"}}\n{after}")}),
    );
    let events: Vec<_> = (0..4).map(|_| stream.next()).collect();
    assert!(events[0].is_call_of("before") && events[3].is_call_of("after"));
    assert_eq!(events[3].number(), events[0].number() + 1, "an unparsed event must not take a number");
    let unparsed = events[1].json();
    assert_eq!((events[1].name.as_str(), &events[1].id), ("unparsed", &None));
    assert_eq!((&unparsed["line"], &unparsed["bytes"]), (&json!("Loading model..."), &json!(16)));
    assert!(unparsed["error"].as_str().is_some_and(|error| !error.is_empty()));
    assert_eq!(events[2].json()["line"], r#"{"level":"info"}"#);
    // It is replayed like other events.
    let mut again = server.get("a").header("Last-Event-ID", &events[0].number().to_string()).stream();
    assert_eq!(again.next(), events[1]);
}

#[test]
fn exit_has_the_next_number_the_code_and_the_stderr_tail_and_ends_the_stream() {
    let server = server_with_agent();
    let mut stream = server.stream("a");
    let hello = stream.next();
    server.tell("a", "stderr", json!({"text": "bye"}));
    server.post("a", call(1, "exit", json!({"code": 3}))).send().problem(502, "agent_exited");
    let rest = stream.rest();
    let exit = rest.last().unwrap();
    assert_eq!(exit.name, "exit");
    assert_eq!(exit.json(), json!({"code": 3, "stderrTail": "bye"}));
    assert_eq!(exit.number(), hello.number() + 2);
    assert_eq!(server.summary("a").unwrap()["exit"], exit.json());
}

#[test]
fn exit_by_a_signal_has_its_name() {
    let server = server_with_agent();
    let mut stream = server.stream("a");
    server.agent_process("a").signal("KILL");
    let exit = stream.until(|event| event.name == "exit");
    assert_eq!(exit.json()["signal"], "SIGKILL");
}

#[test]
fn exit_by_delete_is_reported_as_closed() {
    let server = server_with_agent();
    let mut stream = server.stream("a");
    server.delete("a").send().expect(204);
    let exit = stream.until(|event| event.name == "exit");
    assert_eq!(exit.json()["error"], "closed");
    assert_eq!(stream.next_or_end(), None);
}

#[test]
fn a_get_at_or_past_the_exit_is_204_which_stops_an_event_source() {
    let server = server_with_agent();
    let mut stream = server.stream("a");
    server.post("a", call(1, "exit", json!({}))).send().problem(502, "agent_exited");
    let exit = stream.until(|event| event.name == "exit").number();
    for cursor in [exit, exit + 1, exit + 1000] {
        let response = server.get("a").header("Last-Event-ID", &cursor.to_string()).send();
        assert_eq!(response.expect(204).body, b"");
    }
    // With a cursor just before it, the exit is still sent.
    let mut late = server.get("a").header("Last-Event-ID", &(exit - 1).to_string()).stream();
    assert_eq!(late.next().name, "exit");
    assert_eq!(late.next_or_end(), None);
    // Without a cursor, everything is sent.
    assert!(server.stream("a").rest().len() >= 2);
}

#[test]
fn a_raw_cr_inside_a_string_is_unparsed_and_cannot_forge_an_event() {
    let server = server_with_agent();
    let mut stream = server.get("a").query("replay", "none").stream();
    let forged = "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"\r\rdata: forged\r\r\"}\n";
    server.tell("a", "raw", json!({"text": forged}));
    let event = stream.next();
    assert_eq!(event.name, "unparsed");
    assert_eq!(stream.next().name, "message", "the answer must be the next event");
}

#[test]
fn a_journal_at_or_past_the_exit_is_204_too() {
    let server = server_with_agent();
    server.post("a", call(1, "exit", json!({}))).send().problem(502, "agent_exited");
    let journal = || server.get("a").query("view", "journal");
    let exit = journal().stream().rest().pop().unwrap();
    assert_eq!(exit.name, "exit");
    journal().header("Last-Event-ID", exit.id.as_deref().unwrap()).send().expect(204);
}

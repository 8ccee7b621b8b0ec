//! POST, rules 4 to 6: bytes are passed on unchanged, and ids match answers to requests.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::{call, notification, response};

#[test]
fn a_request_is_answered_with_200_and_the_agents_bytes() {
    let server = Server::start();
    server.open("a", "fault");
    let answer = r#"{ "result":{"z":1,"a":12345678901234567890123,"e":1e400,"u":"\u00e9"}, "extra":[ ], "id":7,"jsonrpc":"2.0"}"#;
    let ask = call(7, "raw", json!({"text": format!("{answer}\n"), "answer": false}));
    let got = server.post("a", ask).send().expect(200);
    assert_eq!(got.text(), answer);
    assert_eq!(got.headers.get("content-type"), Some("application/json"));
}

#[test]
fn a_json_rpc_error_stays_inside_a_200_body() {
    let server = Server::start();
    let answer = server.post("a", call(1, "no_such_method", json!({}))).query("agent", "fault").send();
    assert_eq!(answer.expect(200).json()["error"]["code"], -32601);
}

#[test]
fn the_envelope_reaches_the_agent_as_the_received_bytes() {
    let server = Server::start();
    server.open("a", "fault");
    for message in [
        r#"{"jsonrpc":"2.0","id":1,"method":"received","params":{"z":1,"a":2,"z":3}}"#,
        r#"{"unknown":{"deep":[1,2]},"method":"received","id":12345678901234567890123,"jsonrpc":"2.0"}"#,
        r#"  {"jsonrpc" : "2.0" ,"id":"\u0041\/", "method":"received","params":[1.0,1e3,-0,0.1e-7,99999999999999999999]}  "#,
        r#"{"jsonrpc":"2.0","id":1.50,"method":"received","params":"é \u00e9 😀 \ud83d\ude00 \t"}"#,
        r#"{"jsonrpc":"2.0","id":"","method":"received","params":{"_meta":{"sandboxagent.dev":{"a":1}}}}"#,
    ] {
        let answer = server.post("a", message).send().expect(200).json();
        assert_eq!(answer["result"], message);
    }
}

#[test]
fn raw_cr_and_lf_outside_strings_become_spaces_so_that_a_message_is_one_line() {
    let server = Server::start();
    server.open("a", "fault");
    let message =
        "{\r\n\t\"jsonrpc\":\"2.0\",\r\"id\":1,\n\"method\":\"received\",\"params\":\"a\\r\\nb\"\n}\r\n";
    let answer = server.post("a", message).send().expect(200).json();
    let line = answer["result"].as_str().unwrap();
    assert_eq!(line, message.replace(['\r', '\n'], " "));
}

#[test]
fn a_notification_and_a_response_are_202_with_an_empty_body() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.stream("a");
    server.post("a", notification("received", json!({"n": 1}))).send().expect_accepted();
    server.post("a", response("nobody-asked", json!({}))).send().expect_accepted();
    stream.until(|event| event.is_call_of("received"));
    stream.until(|event| event.is_call_of("asked"));
}

#[test]
fn messages_reach_the_agent_in_the_order_in_which_they_were_accepted() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    for n in 0..50 {
        server.post("a", notification("received", json!({"n": n}))).send().expect_accepted();
    }
    for n in 0..50 {
        let event = stream.until(|event| event.is_call_of("received"));
        let line = event.json()["params"]["line"].as_str().unwrap().to_owned();
        assert_eq!(line, notification("received", json!({"n": n})));
    }
}

#[test]
fn ids_of_different_json_types_are_different_ids() {
    let server = Server::start();
    server.open("a", "fault");
    let ids = ["1", r#""1""#, "1.5", "12345678901234567890123", r#""""#, "-1", "0"];
    let waiting: Vec<_> = ids
        .iter()
        .map(|id| {
            let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"never"}}"#);
            server.post("a", message).start()
        })
        .collect();
    server.wait_for("a", "all wait", |summary| summary["pendingRequests"] == ids.len());
    for id in ids {
        let answer =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"for {}\"}}\n", id.replace('"', "'"));
        server.tell("a", "raw", json!({"text": answer}));
    }
    for (id, waiter) in ids.iter().zip(waiting) {
        let result = waiter.join().unwrap().expect(200).json()["result"].clone();
        assert_eq!(result, format!("for {}", id.replace('"', "'")));
    }
}

#[test]
fn an_id_that_the_agent_re_encoded_still_matches_by_value() {
    let server = Server::start();
    server.open("a", "fault");
    for (sent, returned) in [
        (r#""\u0041""#, r#""A""#),
        (r#""caf\u00e9""#, "\"café\""),
        (r#""A""#, r#""\u0041""#),
        (r#""a\/b""#, r#""a/b""#),
        (r#""\ud83d\ude00""#, "\"😀\""),
        ("1.0", "1"),
        ("100", "1e2"),
        ("12345678901234567890123", "1.2345678901234568e+22"),
    ] {
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{returned},\"result\":\"yes\"}}\n");
        let params = json!({"text": answer, "answer": false});
        let message = format!(r#"{{"jsonrpc":"2.0","id":{sent},"method":"raw","params":{params}}}"#);
        let got = server.post("a", message).header("Prefer", "wait=5").send().expect(200);
        assert_eq!(got.json()["result"], "yes", "{sent} came back as {returned}");
    }
}

#[test]
fn a_request_with_a_null_id_is_forwarded_and_answered_202() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let message = r#"{"jsonrpc":"2.0","id":null,"method":"echo","params":"said"}"#;
    server.post("a", message).send().expect_accepted();
    let answer = stream.until(|event| event.name == "message").json();
    assert_eq!((&answer["id"], &answer["result"]), (&json!(null), &json!("said")));
    // A null id is never pending, so a second one is not a duplicate.
    server.post("a", message).send().expect_accepted();
    server.post("a", message).send().expect_accepted();
}

#[test]
fn a_request_whose_id_is_pending_is_409_at_once() {
    let server = Server::start();
    server.open("a", "fault");
    let waiting = server.post("a", call(1, "never", json!({}))).start();
    server.wait_for("a", "it waits", |summary| summary["pendingRequests"] == 1);
    server.post("a", call(1, "echo", json!({}))).send().problem(409, "duplicate_request_id");
    // The same holds for asynchronous requests, and for any method.
    let second = server.post("a", call(1, "never", json!({}))).header("Prefer", "respond-async");
    second.send().problem(409, "duplicate_request_id");
    server.post("a", call("1", "echo", json!({}))).send().expect(200);
    server.tell("a", "raw", json!({"text": "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"late\"}\n"}));
    assert_eq!(waiting.join().unwrap().expect(200).json()["result"], "late");
    // After the answer, the id can be used again.
    server.post("a", call(1, "echo", json!({}))).send().expect(200);
}

#[test]
fn an_id_stays_pending_after_its_caller_has_timed_out() {
    let server = Server::start();
    server.open("a", "fault");
    let never = server.post("a", call(1, "never", json!({}))).header("Prefer", "wait=0");
    never.send().problem(504, "request_timeout");
    server.post("a", call(1, "echo", json!({}))).send().problem(409, "duplicate_request_id");
}

#[test]
fn concurrent_messages_reach_the_agent_in_the_order_of_the_journal() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    let posts: Vec<_> =
        (0..100).map(|n| server.post("a", notification("received", json!({"n": n}))).start()).collect();
    for post in posts {
        post.join().unwrap().expect_accepted();
    }
    let received: Vec<_> = (0..100)
        .map(|_| stream.until(|event| event.is_call_of("received")).json()["params"]["line"].clone())
        .collect();
    let mut journal = server.get("a").query("view", "journal").stream();
    journal.next();
    let sent: Vec<_> = (0..100).map(|_| json!(journal.until(|event| event.name == "sent").data)).collect();
    assert_eq!(received, sent);
}

#[test]
fn a_message_of_many_megabytes_passes_unchanged_in_both_directions() {
    let server = Server::start();
    server.open("a", "fault");
    let message = call(1, "received", json!({"filler": "é\u{1F600}\\\"".repeat(700_000)}));
    assert!(message.len() > 5 << 20);
    let answer = server.post("a", message.clone()).send().expect(200).json();
    assert!(answer["result"] == message, "the agent received different bytes");
    let event = server.get("a").stream().until(|event| event.answers(&json!(1)));
    assert!(event.json()["result"] == message, "the stream has different bytes");
}

//! Agents that write invalid output.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::call;

fn server() -> Server {
    let server = Server::start();
    server.open("a", "fault");
    server
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn noise_at_start_and_between_messages_stops_nothing() {
    let server = Server::with().agent("noisy", "--noise").start();
    server.open("a", "noisy");
    let mut stream = server.stream("a");
    let lines: Vec<_> = (0..4).map(|_| stream.next()).collect();
    assert!(lines.iter().all(|event| event.name == "unparsed"));
    let reported: Vec<_> = lines.iter().map(|event| event.json()["line"].clone()).collect();
    assert_eq!(reported, ["Starting up...", r#"{"level":"info","msg":"ready"}"#, "[1,2]", "42"]);
    assert!(stream.next().answers(&json!("hello")));
}

#[test]
fn invalid_utf_8_is_reported_as_unparsed_and_the_next_message_arrives() {
    let server = server();
    let mut stream = server.get("a").query("replay", "none").stream();
    let mut bytes = b"{\"jsonrpc\":\"2.0\",\"method\":\"x\xff\xfe\"}\n".to_vec();
    bytes.extend_from_slice(b"\xc3\x28\xa0\xa1 binary \x00\x01\n");
    server.post("a", call(1, "raw", json!({"hex": hex(&bytes)}))).send().expect(200);
    assert_eq!(stream.next().name, "unparsed");
    let second = stream.next();
    assert_eq!((second.name.as_str(), &second.json()["bytes"]), ("unparsed", &json!(14)));
    assert!(stream.next().answers(&json!(1)));
}

#[test]
fn a_multi_byte_character_at_the_200_character_cut_stays_whole() {
    let server = server();
    let mut stream = server.get("a").query("replay", "none").stream();
    for (filler, character) in [(199, "é"), (199, "😀"), (198, "漢"), (200, "é"), (0, "😀")] {
        let line = format!("{}{}", "x".repeat(filler), character.repeat(300));
        server.post("a", call(1, "raw", json!({"text": format!("{line}\n")}))).send().expect(200);
        let event = stream.next().json();
        let shown = event["line"].as_str().unwrap();
        assert_eq!(shown, line.chars().take(200).collect::<String>());
        assert_eq!(event["bytes"], line.len());
        stream.next();
    }
}

#[test]
fn a_character_split_over_two_writes_is_joined() {
    let server = server();
    let mut stream = server.get("a").query("replay", "none").stream();
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":\"é😀漢\"}";
    let bytes = format!("{line}\n").into_bytes();
    for cut in 1..bytes.len() {
        let (one, two) = bytes.split_at(cut);
        let quiet = json!({"hex": hex(one), "answer": false});
        server
            .post("a", json!({"jsonrpc": "2.0", "method": "raw", "params": quiet}).to_string())
            .send()
            .expect_accepted();
        server
            .post("a", json!({"jsonrpc": "2.0", "method": "raw", "params": {"hex": hex(two)}}).to_string())
            .send()
            .expect_accepted();
        assert_eq!(stream.next().data, line);
    }
}

#[test]
fn a_message_with_crlf_is_a_message() {
    let server = server();
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"crlf\"}\r\n";
    let got = server.post("a", call(1, "raw", json!({"text": answer, "answer": false}))).send().expect(200);
    assert_eq!(got.text(), answer.trim_end());
}

#[test]
fn a_last_message_without_a_newline_before_exit_is_not_lost() {
    let server = server();
    let text = "{\"jsonrpc\":\"2.0\",\"method\":\"cut\"}";
    server
        .post("a", call(1, "raw", json!({"text": text, "answer": false})))
        .header("Prefer", "respond-async")
        .send()
        .expect_accepted();
    server.post("a", call(2, "exit", json!({}))).send().problem(502, "agent_exited");
    let events = server.stream("a").rest();
    assert!(events.iter().any(|event| event.is_call_of("cut")), "{events:?}");
}

#[test]
fn a_line_over_max_message_bytes_is_skipped_and_reported() {
    let server = Server::with().flag("--max-message-bytes", "100000").start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    server.post("a", call(1, "emit", json!({"count": 1, "bytes": 200_000}))).send().expect(200);
    let unparsed = stream.next();
    let data = unparsed.json();
    assert_eq!(unparsed.name, "unparsed");
    assert!(data["bytes"].as_u64().unwrap() > 200_000);
    assert_eq!(data["line"].as_str().unwrap().chars().count(), 200);
    assert!(data["error"].as_str().unwrap().contains("100000"));
    assert!(stream.next().answers(&json!(1)));
}

#[test]
fn a_line_of_100_megabytes_stops_nothing_and_is_not_retained() {
    let server = server();
    let mut stream = server.get("a").query("replay", "none").stream();
    let before = server.process.peak_memory();
    server.post("a", call(1, "emit", json!({"count": 1, "bytes": 100_000_000}))).send().expect(200);
    let unparsed = stream.next();
    assert_eq!(unparsed.name, "unparsed");
    assert!(unparsed.json()["bytes"].as_u64().unwrap() > 100_000_000);
    assert!(stream.next().answers(&json!(1)));
    let grown = server.process.peak_memory() - before;
    assert!(grown < 80 << 20, "{} MiB for a skipped line", grown >> 20);
}

#[test]
fn megabytes_of_stderr_stop_nothing_and_only_the_tail_is_retained() {
    let server = server();
    let before = server.process.peak_memory();
    server.post("a", call(1, "stderr", json!({"bytes": 8 << 20}))).send().expect(200);
    let grown = server.process.peak_memory() - before;
    assert!(grown < 16 << 20, "{} MiB for stderr output", grown >> 20);
    let problem = server.post("a", call(2, "exit", json!({}))).send().problem(502, "agent_exited");
    assert!(problem["stderrTail"].as_str().unwrap().len() <= 4096);
}

#[test]
fn an_endless_stderr_line_is_bounded() {
    let server = server();
    let before = server.process.peak_memory();
    for _ in 0..16 {
        server.tell("a", "stderr", json!({"text": "e".repeat(1 << 20)}));
    }
    let grown = server.process.peak_memory() - before;
    // The requests themselves contain the text, and the journal retains some of them.
    assert!(grown < 100 << 20, "{} MiB", grown >> 20);
    server.tell("a", "echo", json!({}));
}

#[test]
fn deeply_nested_json_is_unparsed_or_passed_but_never_a_crash() {
    let server = server();
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    server.post("a", call(1, "raw", json!({"text": format!("{deep}\n")}))).send().expect(200);
    let event = server.get("a").stream().until(|event| event.data.contains("[[[["));
    assert!(["message", "unparsed"].contains(&event.name.as_str()));
    let posted =
        server.post("a", deep.replace("\"method\"", "\"id\":2,\"method\"")).header("Prefer", "wait=1").send();
    assert!([200, 400, 504].contains(&posted.status), "{}", posted.status);
    server.request("GET", "/v1/health").send().expect(200);
}

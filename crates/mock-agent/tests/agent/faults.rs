//! Crashes, noise, and clients that do not read.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Agent, DEADLINE};

#[test]
fn crash_exits_during_the_turn_with_its_code_and_a_message_on_stderr() {
    for (prompt, code) in [("crash", 1), ("crash 42", 42), ("crash 0", 0)] {
        let mut agent = Agent::ready(&json!({}));
        let id = agent.ask_prompt("mock-session-1", prompt);
        let mut is_written = false;
        while let Some(line) = agent.next_line() {
            let message: Value = serde_json::from_slice(&line).unwrap();
            assert_ne!(message["id"], id, "a crash must not answer the prompt");
            is_written |= message["params"]["update"]["content"]["text"] == "I am about to crash.";
        }
        assert!(is_written, "the text before the crash was not written");
        let (status, stderr) = agent.wait();
        assert_eq!(status.code(), Some(code));
        assert_eq!(stderr, format!("mock-agent: crashing with code {code}\n"));
    }
}

#[test]
fn exit_answers_first() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt("exit 7");
    assert_eq!(turn.stop_reason(), "end_turn");
    assert_eq!(agent.next_line(), None);
    assert_eq!(agent.wait().0.code(), Some(7));
}

#[test]
fn noise_does_not_damage_the_answer() {
    let mut agent = Agent::ready(&json!({}));
    let id = agent.ask_prompt("mock-session-1", "noise");
    let mut noise = Vec::new();
    let mut text = String::new();
    loop {
        let line = agent.next_line().unwrap();
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) if message["id"] == id => break,
            Ok(message) if message.get("jsonrpc").is_some() => {
                text.push_str(message["params"]["update"]["content"]["text"].as_str().unwrap_or_default());
            }
            _ => noise.push(line),
        }
    }
    assert_eq!(text, "There is noise around this answer.");
    assert!(noise.contains(&b"{\"level\":\"info\"}\n".to_vec()));
    assert!(noise.contains(&b"Loading configuration...\n".to_vec()));
    assert!(noise.iter().any(|line| std::str::from_utf8(line).is_err()), "invalid UTF-8");
    assert!(noise.iter().all(|line| line.ends_with(b"\n")));
}

#[test]
fn stderr_writes_the_requested_number_of_bytes() {
    let mut agent = Agent::ready(&json!({}));
    assert_eq!(agent.prompt("stderr 1000003").text(), "Wrote 1000003 bytes to stderr.");
    agent.close_stdin();
    assert_eq!(agent.wait().1.len(), 1_000_003);
}

#[test]
fn a_client_that_does_not_read_does_not_fill_the_agents_memory() {
    let mut agent = Agent::ready(&json!({}));
    agent.ask_prompt("mock-session-1", "stream 500 1000000");
    // The buffers are full once the memory has not changed for a while.
    let until = Instant::now() + DEADLINE;
    let mut unchanged = 0;
    let mut resident = 0;
    while unchanged < 50 {
        let now = agent.resident_kilobytes();
        unchanged = if now == resident && now > 10_000 { unchanged + 1 } else { 0 };
        resident = now;
        assert!(resident < 200 * 1024, "{resident} kB");
        assert!(Instant::now() < until, "the agent's memory is still growing: {resident} kB");
        std::thread::sleep(Duration::from_millis(10));
    }
    // The agent still reads its input.
    agent.notify("session/cancel", &json!({"sessionId": "mock-session-1"}));
    let answer = agent.next_where(|message| message.get("id").is_some());
    assert_eq!(answer["result"]["stopReason"], "cancelled");
}

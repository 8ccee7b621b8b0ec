//! The client's files and terminals.

use serde_json::{Value, json};

use crate::harness::{Agent, all_capabilities};

#[test]
fn without_a_capability_the_agent_reports_it_and_sends_no_request() {
    let mut agent = Agent::ready(&json!({}));
    for (prompt, capability) in [
        ("read a.txt", "fs.readTextFile"),
        ("write a.txt hello", "fs.writeTextFile"),
        ("terminal ls", "terminal"),
        ("elicit", "elicitation.form"),
    ] {
        let turn = agent.prompt(prompt);
        assert!(turn.text().contains(capability), "{prompt}: {}", turn.text());
        assert_eq!(turn.stop_reason(), "end_turn");
    }
}

#[test]
fn read_reads_through_the_client_relative_to_the_session() {
    let mut agent = Agent::ready(&all_capabilities());
    let turn = agent.prompt_answering("read notes/a.txt", |_| json!({"content": "some text"}));
    assert_eq!(turn.others[0]["method"], "fs/read_text_file");
    assert_eq!(turn.others[0]["params"], json!({"sessionId": "mock-session-1", "path": "/mock/notes/a.txt"}));
    assert_eq!(turn.statuses(), ["in_progress", "completed"]);
    assert!(turn.text().ends_with("some text"), "{}", turn.text());
    let turn = agent.prompt_answering("read /etc/a.txt", |_| json!({"content": ""}));
    assert_eq!(turn.others[0]["params"]["path"], "/etc/a.txt");
}

#[test]
fn write_writes_through_the_client() {
    let mut agent = Agent::ready(&all_capabilities());
    let turn = agent.prompt_answering("write a.txt two words", |_| json!({}));
    assert_eq!(turn.others[0]["method"], "fs/write_text_file");
    assert_eq!(
        turn.others[0]["params"],
        json!({"sessionId": "mock-session-1", "path": "/mock/a.txt", "content": "two words"})
    );
    assert_eq!(turn.of("tool_call_update")[0]["content"][0]["newText"], "two words");
    assert_eq!(turn.text(), "Wrote 9 bytes to /mock/a.txt.");
}

#[test]
fn a_file_the_client_cannot_read_fails_the_tool_call_not_the_turn() {
    let mut agent = Agent::ready(&all_capabilities());
    let id = agent.ask_prompt("mock-session-1", "read gone.txt");
    let request = agent.next_where(|message| message["method"] == "fs/read_text_file");
    let error = json!({"code": -32002, "message": "Resource not found"});
    agent.send_line(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string());
    let turn = agent.finish(id, |_| unreachable!());
    assert_eq!(turn.statuses(), ["failed"]);
    assert!(turn.text().contains("Resource not found"), "{}", turn.text());
    assert_eq!(turn.stop_reason(), "end_turn");
}

fn terminal(request: &Value) -> Value {
    match request["method"].as_str().unwrap() {
        "terminal/create" => json!({"terminalId": "t1"}),
        "terminal/wait_for_exit" => json!({"exitCode": 0, "signal": null}),
        "terminal/output" => json!({"output": "hello\n", "truncated": false}),
        "terminal/release" => json!({}),
        other => panic!("{other}"),
    }
}

#[test]
fn a_terminal_is_created_shown_awaited_read_and_released() {
    let mut agent = Agent::ready(&all_capabilities());
    let turn = agent.prompt_answering("terminal echo hello world", terminal);
    let methods: Vec<_> = turn.others.iter().map(|request| request["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]);
    let create = &turn.others[0]["params"];
    assert_eq!((&create["command"], &create["args"]), (&json!("echo"), &json!(["hello", "world"])));
    assert_eq!(create["cwd"], "/mock");
    assert_eq!(turn.of("tool_call")[0]["content"], json!([{"type": "terminal", "terminalId": "t1"}]));
    assert_eq!(turn.statuses(), ["in_progress", "completed"]);
    assert_eq!(turn.of("tool_call_update")[0]["rawOutput"]["exitCode"], 0);
    assert_eq!(turn.text(), "The command exited with code 0. Its output:\n\nhello\n");
}

#[test]
fn a_cancelled_terminal_is_killed_and_released() {
    let mut agent = Agent::ready(&all_capabilities());
    let id = agent.ask_prompt("mock-session-1", "terminal sleep 100");
    let create = agent.next_where(|message| message["method"] == "terminal/create");
    agent.answer(&create, &json!({"terminalId": "t1"}));
    let waiting = agent.next_where(|message| message["method"] == "terminal/wait_for_exit");
    agent.notify("session/cancel", &json!({"sessionId": "mock-session-1"}));
    let turn = agent.finish(id, |_| json!({}));
    assert_eq!(turn.stop_reason(), "cancelled");
    let methods: Vec<_> = turn.others.iter().map(|message| message["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["$/cancel_request", "terminal/kill", "terminal/release"]);
    assert_eq!(turn.others[0]["params"]["requestId"], waiting["id"]);
}

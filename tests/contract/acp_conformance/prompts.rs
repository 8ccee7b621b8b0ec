//! Prompts, and the agent's messages during a turn.

use serde_json::json;

use super::conversation::Conversation;

#[test]
fn agent_messages_in_a_turn_conform_to_the_protocol() {
    let mut conversation = Conversation::start();
    let session = conversation.new_session();
    for prompt in [
        "help",
        "echo hello",
        "stream 5",
        "markdown",
        "think",
        "plan",
        "tool",
        "diff",
        "image",
        "audio",
        "resource",
        "usage",
        "title A title",
        "commands",
        "mode plan",
        "meta",
        "cwd",
    ] {
        let came = conversation.prompt(&session, prompt);
        assert!(came.len() > 1, "{prompt} says something");
        assert_eq!(came.last().unwrap()["result"]["stopReason"], "end_turn", "{prompt}");
    }
    assert!(conversation.check_all() > 60);
}

#[test]
fn agent_requests_in_a_turn_conform_to_the_protocol_and_receive_their_answers() {
    let mut conversation = Conversation::start();
    let session = conversation.new_session();
    for (prompt, method) in [
        ("permission", "session/request_permission"),
        ("permissions 3", "session/request_permission"),
        ("question", "_sandboxagent/session/request_question"),
        ("elicit", "elicitation/create"),
        ("read a.txt", "fs/read_text_file"),
        ("write a.txt text", "fs/write_text_file"),
        ("terminal ls", "terminal/create"),
    ] {
        let came = conversation.prompt(&session, prompt);
        assert!(came.iter().any(|message| message["method"] == method), "{prompt} asks {method}");
        assert_eq!(came.last().unwrap()["result"]["stopReason"], "end_turn", "{prompt}");
    }
    conversation.check_all();
}

#[test]
fn other_ends_of_a_turn_conform_to_the_protocol() {
    let mut conversation = Conversation::start();
    let session = conversation.new_session();
    for (prompt, reason) in [("refuse", "refusal"), ("max", "max_tokens")] {
        let came = conversation.prompt(&session, prompt);
        assert_eq!(came.last().unwrap()["result"]["stopReason"], reason);
    }
    let failed = conversation.prompt(&session, "error");
    assert!(failed.last().unwrap()["error"]["code"].is_i64(), "a JSON-RPC error must pass unchanged");
    conversation.check_all();
}

#[test]
fn extensions_of_the_product_are_passed_on_unchanged() {
    let mut conversation = Conversation::start();
    let session = conversation.new_session();
    for (prompt, method) in
        [("ended", "_sandboxagent/session/ended"), ("unparsed", "_sandboxagent/agent/unparsed")]
    {
        let came = conversation.prompt(&session, prompt);
        let sent = came.iter().find(|message| message["method"] == method);
        assert!(sent.is_some_and(|message| message["params"] != json!(null)), "{prompt}");
    }
}

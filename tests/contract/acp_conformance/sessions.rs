//! Session methods.

use serde_json::json;

use super::conversation::Conversation;

#[test]
fn every_stable_session_method_conforms_to_the_protocol() {
    let mut conversation = Conversation::start();
    conversation.call("authenticate", json!({"methodId": "mock-login"}));
    let session = conversation.new_session();
    conversation.prompt(&session, "echo something to remember");
    conversation.call("session/set_mode", json!({"sessionId": session, "modeId": "code"}));
    let model = json!({"sessionId": session, "configId": "model", "value": "mock-large"});
    conversation.call("session/set_config_option", model);
    let listed = conversation.call("session/list", json!({}));
    assert_eq!(listed["sessions"][0]["sessionId"], session);
    let place = json!({"sessionId": session, "cwd": "/mock", "mcpServers": []});
    conversation.call("session/close", json!({"sessionId": session}));
    conversation.call("session/load", place.clone());
    conversation.call("session/close", json!({"sessionId": session}));
    conversation.call("session/resume", place);
    conversation.call("session/delete", json!({"sessionId": session}));
    conversation.call("logout", json!({}));
    assert!(conversation.check_all() > 20);
}

#[test]
fn the_mock_agent_works_as_soon_as_the_server_starts() {
    let mut conversation = Conversation::start();
    let session = conversation.new_session();
    let came = conversation.prompt(&session, "echo hello");
    let is_sent = came.iter().any(|message| {
        message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
            && message["params"]["update"]["content"]["text"] == "hello"
    });
    assert!(is_sent, "{came:?}");
}

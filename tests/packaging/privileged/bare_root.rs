//! A root with only the binary and an agent, without `/proc`, `/dev`, `/etc` and `/tmp`.

use std::process::{Output, Stdio};

use serde_json::json;

use super::root::{Root, Start};
use test_harness::rpc::call;

/// The entries of a root, without libraries.
fn entries(root: &Root) -> Vec<String> {
    let names = std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with("lib"));
    names.sort();
    names
}

#[test]
fn a_prompt_is_answered_with_only_the_binary_and_an_agent() {
    let root = Root::bare();
    assert_eq!(entries(&root), ["agent", "sandbox-agent"]);
    let server = root.serve(Start::Plainly);
    // The agent is a separate program; it echoes.
    assert_eq!(server.tell("a", "echo", json!({"text": "hello"})), json!({"text": "hello"}));
    // The built-in agent speaks ACP.
    let say = |message: String| {
        let post = server.request("POST", "/v1/acp/mock").query("agent", "mock").body(message);
        post.send().expect(200).json()
    };
    say(call(1, "initialize", json!({"protocolVersion": 1})));
    let session = say(call(2, "session/new", json!({"cwd": "/", "mcpServers": []})));
    let prompt =
        json!({"sessionId": session["result"]["sessionId"], "prompt": [{"type": "text", "text": "hello"}]});
    assert_eq!(say(call(3, "session/prompt", prompt))["result"]["stopReason"], "end_turn");
    let mut stream = server.request("GET", "/v1/acp/mock").header("Accept", "text/event-stream").stream();
    stream.until(|event| event.data.contains("agent_message_chunk"));
}

#[test]
fn files_agents_configuration_and_the_inspector_are_served() {
    let root = Root::bare();
    let server = root.serve(Start::Plainly);
    server.request("PUT", "/v1/fs/file?path=/note").body("kept").send().expect(200);
    assert_eq!(std::fs::read_to_string(root.path().join("note")).unwrap(), "kept");
    let entry = r#"{"type":"local","command":"x"}"#;
    let target = "/v1/config/mcp?directory=/&mcpName=x";
    server.request("PUT", target).body(entry).send().expect(204);
    server.request("GET", target).send().expect(200);
    let agents = server.request("GET", "/v1/agents").send().expect(200).json();
    assert!(agents["agents"].as_array().unwrap().iter().any(|agent| agent["id"] == "beside"), "{agents}");
    assert!(server.request("GET", "/ui/").send().expect(200).text().contains("<html"));
}

#[test]
fn a_daemon_of_an_agent_ends_with_its_instance() {
    let root = Root::bare();
    let server = root.serve(Start::Plainly);
    let daemon = server.spawn_daemon("a");
    server.request("DELETE", "/v1/acp/a").send().expect(204);
    assert!(daemon.is_gone());
    assert_eq!(server.process().descendants(), []);
}

#[test]
fn killing_the_server_ends_its_agents_and_their_daemons() {
    let root = Root::bare();
    let mut server = root.serve(Start::Plainly);
    let daemon = server.spawn_daemon("a");
    let family = server.process().descendants();
    assert!(
        family.len() >= 3 && family.contains(&daemon),
        "expected a supervisor, an agent and its daemon: {family:?}"
    );
    server.process().signal("KILL");
    server.wait_for_end();
    for process in family {
        process.wait_until_gone();
    }
}

#[test]
fn sigterm_ends_everything_and_exits_with_0() {
    let root = Root::bare();
    let mut server = root.serve(Start::Plainly);
    server.spawn_daemon("a");
    let family = server.process().descendants();
    server.process().signal("TERM");
    assert_eq!(server.wait_for_end().code(), Some(0));
    assert!(family.iter().all(|process| process.is_gone()));
}

#[test]
fn missing_requirements_are_reported() {
    let root = Root::bare();
    let printed = |arguments: &[&str]| {
        let mut command = root.command(Start::Plainly, arguments);
        let Output { status, stderr, .. } = command.stdout(Stdio::null()).output().unwrap();
        (status.code(), String::from_utf8(stderr).unwrap())
    };
    let (code, text) = printed(&["server", "--port", "0"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("--data-dir"), "{text}");
    let (code, text) =
        printed(&["server", "--port", "0", "--data-dir", "/data", "--host", "nowhere.invalid"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("give an address"), "{text}");
}

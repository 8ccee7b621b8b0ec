//! Updates about the session, and reports of what the agent received.

use serde_json::{Value, json};

use crate::harness::Agent;

#[test]
fn usage_has_a_cost() {
    let turn = Agent::ready(&json!({})).prompt("usage");
    assert_eq!(turn.of("usage_update")[0]["cost"], json!({"amount": 0.25, "currency": "USD"}));
    assert_eq!(turn.of("usage_update")[0]["size"], 200_000);
}

#[test]
fn title_renames_the_session_for_updates_and_list() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt("title A better name");
    assert_eq!(turn.of("session_info_update").last().unwrap()["title"], "A better name");
    assert_eq!(agent.call("session/list", &json!({}))["result"]["sessions"][0]["title"], "A better name");
}

#[test]
fn commands_announces_them_again() {
    let turn = Agent::ready(&json!({})).prompt("commands");
    assert!(turn.of("available_commands_update")[0]["availableCommands"].as_array().unwrap().len() > 30);
}

#[test]
fn mode_changes_from_the_agents_side() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt("mode code");
    assert_eq!(turn.of("current_mode_update")[0]["currentModeId"], "code");
    assert_eq!(turn.of("config_option_update")[0]["configOptions"][0]["currentValue"], "code");
    let turn = agent.prompt("mode yolo");
    assert!(turn.of("current_mode_update").is_empty());
    assert!(turn.text().contains("ask, code, plan"), "{}", turn.text());
}

#[test]
fn ended_is_the_extension_notification() {
    let turn = Agent::ready(&json!({})).prompt("ended");
    assert_eq!(
        turn.others,
        [json!({
            "jsonrpc": "2.0",
            "method": "_sandboxagent/session/ended",
            "params": {
                "sessionId": "mock-session-1",
                "reason": "completed",
                "terminatedBy": "agent",
                "message": "The mock agent was asked to end the session.",
                "exitCode": 0,
            },
        })]
    );
}

#[test]
fn unparsed_is_the_extension_notification() {
    let turn = Agent::ready(&json!({})).prompt("unparsed");
    assert_eq!(turn.others[0]["method"], "_sandboxagent/agent/unparsed");
    let mut keys: Vec<_> = turn.others[0]["params"].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["error", "location", "rawHash"]);
}

#[test]
fn meta_reports_metadata_and_attachments() {
    let mut agent = Agent::start();
    agent.initialize(&json!({}));
    let session_meta = json!({"sandboxagent.dev": {"title": "T"}});
    agent.call("session/new", &json!({"cwd": "/mock", "mcpServers": [], "_meta": session_meta}));
    agent.next();
    let prompt_meta = json!({"trace": 7});
    let file = json!({"sandboxagent.dev": {"filename": "a.txt"}});
    let id = agent.ask(
        "session/prompt",
        &json!({
            "sessionId": "mock-session-1",
            "_meta": prompt_meta,
            "prompt": [
                {"type": "text", "text": "meta"},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                {"type": "resource_link", "name": "a.txt", "uri": "file:///a.txt", "mimeType": "text/plain", "_meta": file},
                {"type": "resource", "resource": {"uri": "file:///b.txt", "mimeType": "text/x-b", "text": "hello"}},
            ],
        }),
    );
    let report: Value = serde_json::from_str(&agent.finish(id, |_| unreachable!()).text()).unwrap();
    assert_eq!(
        report,
        json!({
            "session": session_meta,
            "prompt": prompt_meta,
            "attachments": [
                {"type": "image", "mimeType": "image/png", "bytes": 4},
                {"type": "resource_link", "name": "a.txt", "uri": "file:///a.txt", "mimeType": "text/plain", "_meta": file},
                {"type": "resource", "uri": "file:///b.txt", "mimeType": "text/x-b", "bytes": 5},
            ],
        })
    );
}

#[test]
fn mcp_lists_the_received_servers() {
    let mut agent = Agent::start();
    agent.initialize(&json!({}));
    let servers = json!([
        {"name": "local", "command": "/bin/server", "args": ["--fast"], "env": []},
        {"type": "http", "name": "web", "url": "http://127.0.0.1:1/mcp", "headers": []},
        {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/sse", "headers": []},
    ]);
    agent.call("session/new", &json!({"cwd": "/mock", "mcpServers": servers}));
    agent.next();
    assert_eq!(
        agent.prompt("mcp").text(),
        "I was given 3 MCP servers.\n- local (stdio): /bin/server --fast\n\
         - web (http): http://127.0.0.1:1/mcp\n- old (sse): http://127.0.0.1:1/sse\n"
    );
}

#[test]
fn env_and_cwd_report_environment_and_directories() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    let mut agent = Agent::start_with(|command| {
        command.env("MOCK_COLOUR", "green").current_dir(&here);
    });
    agent.initialize(&json!({}));
    agent.new_session();
    assert_eq!(agent.prompt("env MOCK_COLOUR").text(), "MOCK_COLOUR=green");
    assert_eq!(agent.prompt("env MOCK_NOTHING").text(), "MOCK_NOTHING is not set.");
    assert_eq!(agent.prompt("cwd").text(), format!("session: /mock\nprocess: {}\n", here.display()));
}

//! Session methods other than prompts.

use serde_json::{Value, json};

use crate::harness::Agent;

fn current(options: &Value, id: &str) -> Value {
    let option = options.as_array().unwrap().iter().find(|option| option["id"] == id).unwrap();
    option["currentValue"].clone()
}

#[test]
fn a_new_session_has_modes_and_config_options_and_sends_its_commands() {
    let mut agent = Agent::start();
    agent.initialize(&json!({}));
    let made = agent.call("session/new", &json!({"cwd": "/mock", "mcpServers": []}))["result"].clone();
    assert_eq!(made["sessionId"], "mock-session-1");
    assert_eq!(made["modes"]["currentModeId"], "ask");
    assert_eq!(made["modes"]["availableModes"].as_array().unwrap().len(), 3);
    let options = made["configOptions"].as_array().unwrap();
    let categories: Vec<_> = options.iter().map(|option| option["category"].as_str().unwrap()).collect();
    assert_eq!(categories, ["mode", "model", "thought_level"]);
    assert_eq!(options[1]["options"].as_array().unwrap().len(), 3);

    let update = agent.next()["params"]["update"].clone();
    assert_eq!(update["sessionUpdate"], "available_commands_update");
    let commands = update["availableCommands"].as_array().unwrap();
    assert!(commands.iter().any(|command| command["name"] == "terminal"));
}

#[test]
fn a_relative_working_directory_is_refused() {
    let mut agent = Agent::start();
    agent.initialize(&json!({}));
    let refused = agent.call("session/new", &json!({"cwd": "here", "mcpServers": []}));
    assert_eq!(refused["error"]["code"], -32602);
}

#[test]
fn session_mode_and_config_option_show_the_same_mode() {
    let mut agent = Agent::ready(&json!({}));
    let set = agent.ask("session/set_mode", &json!({"sessionId": "mock-session-1", "modeId": "code"}));
    let update = agent.next()["params"]["update"].clone();
    assert_eq!(update["sessionUpdate"], "config_option_update");
    assert_eq!(current(&update["configOptions"], "mode"), "code");
    assert_eq!(agent.next()["id"], set);

    let params = json!({"sessionId": "mock-session-1", "configId": "mode", "value": "plan"});
    let set = agent.ask("session/set_config_option", &params);
    let update = agent.next()["params"]["update"].clone();
    assert_eq!(update, json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}));
    let answer = agent.next();
    assert_eq!(answer["id"], set);
    assert_eq!(current(&answer["result"]["configOptions"], "mode"), "plan");
}

#[test]
fn model_and_thought_level_are_set_as_config_options() {
    let mut agent = Agent::ready(&json!({}));
    for (option, value) in [("model", "mock-large"), ("thought_level", "high")] {
        let params = json!({"sessionId": "mock-session-1", "configId": option, "value": value});
        let answer = agent.call("session/set_config_option", &params);
        assert_eq!(current(&answer["result"]["configOptions"], option), value);
    }
}

#[test]
fn the_older_set_model_sets_the_model_too() {
    let mut agent = Agent::ready(&json!({}));
    let set =
        agent.ask("session/set_model", &json!({"sessionId": "mock-session-1", "modelId": "mock-medium"}));
    assert_eq!(current(&agent.next()["params"]["update"]["configOptions"], "model"), "mock-medium");
    let answer = agent.next();
    assert_eq!((&answer["id"], &answer["result"]), (&json!(set), &json!({})));
}

#[test]
fn settings_that_do_not_exist_are_refused() {
    let mut agent = Agent::ready(&json!({}));
    let id = "mock-session-1";
    for (method, params) in [
        ("session/set_mode", json!({"sessionId": id, "modeId": "yolo"})),
        ("session/set_config_option", json!({"sessionId": id, "configId": "mode", "value": "yolo"})),
        ("session/set_config_option", json!({"sessionId": id, "configId": "colour", "value": "red"})),
        ("session/set_model", json!({"sessionId": id, "modelId": "gpt"})),
    ] {
        assert_eq!(agent.call(method, &params)["error"]["code"], -32602, "{method} {params}");
    }
}

#[test]
fn an_unknown_session_is_not_found() {
    let mut agent = Agent::ready(&json!({}));
    for (method, params) in [
        ("session/prompt", json!({"sessionId": "mock-session-9", "prompt": []})),
        ("session/load", json!({"sessionId": "other", "cwd": "/", "mcpServers": []})),
        ("session/resume", json!({"sessionId": "mock-session-01", "cwd": "/"})),
        ("session/fork", json!({"sessionId": "mock-session-9", "cwd": "/"})),
        ("session/close", json!({"sessionId": "mock-session-9"})),
        ("session/set_mode", json!({"sessionId": "mock-session-9", "modeId": "ask"})),
    ] {
        let error = agent.call(method, &params)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["sessionId"]), (&json!(-32002), &params["sessionId"]));
    }
}

#[test]
fn loading_replays_the_conversation_before_it_answers() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt("tool");
    let id =
        agent.ask("session/load", &json!({"sessionId": "mock-session-1", "cwd": "/mock", "mcpServers": []}));
    let replay = agent.finish(id, |_| unreachable!());
    assert_eq!(replay.updates[0]["sessionUpdate"], "user_message_chunk");
    assert_eq!(replay.updates[0]["content"]["text"], "tool");
    let conversation: Vec<_> = turn
        .updates
        .iter()
        .filter(|u| u["sessionUpdate"] != "session_info_update" && u["sessionUpdate"] != "usage_update")
        .collect();
    assert_eq!(replay.updates[1..].iter().collect::<Vec<_>>(), conversation);
    assert_eq!(replay.response["result"]["modes"]["currentModeId"], "ask");
    assert_eq!(agent.next()["params"]["update"]["sessionUpdate"], "available_commands_update");
}

#[test]
fn resuming_replays_nothing() {
    let mut agent = Agent::ready(&json!({}));
    agent.prompt("hello");
    let resumed = agent.call("session/resume", &json!({"sessionId": "mock-session-1", "cwd": "/mock"}));
    assert_eq!(resumed["result"]["configOptions"][1]["currentValue"], "mock-small");
}

#[test]
fn a_fork_shares_the_history_but_not_later_messages() {
    let mut agent = Agent::ready(&json!({}));
    agent.prompt("echo shared");
    let forked = agent.call("session/fork", &json!({"sessionId": "mock-session-1", "cwd": "/fork"}));
    assert_eq!(forked["result"]["sessionId"], "mock-session-2");
    agent.next();
    let id = agent.ask_prompt("mock-session-2", "echo only here");
    agent.finish(id, |_| unreachable!());
    let mut text_of = |session: &str| {
        let id = agent.ask("session/load", &json!({"sessionId": session, "cwd": "/mock", "mcpServers": []}));
        let text = agent.finish(id, |_| unreachable!()).text();
        agent.next();
        text
    };
    assert_eq!(text_of("mock-session-2"), "sharedonly here");
    assert_eq!(text_of("mock-session-1"), "shared");
}

#[test]
fn sessions_are_listed_newest_first_ten_per_page() {
    let mut agent = Agent::ready(&json!({}));
    for _ in 0..11 {
        agent.new_session();
    }
    let mut ids = Vec::new();
    let mut cursor = Value::Null;
    let mut pages = 0;
    loop {
        let page = agent.call("session/list", &json!({"cursor": cursor}))["result"].clone();
        ids.extend(page["sessions"].as_array().unwrap().iter().map(|s| s["sessionId"].clone()));
        pages += 1;
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(pages, 2);
    let expected: Vec<_> = (1..=12).rev().map(|n| json!(format!("mock-session-{n}"))).collect();
    assert_eq!(ids, expected);
    assert_eq!(agent.call("session/list", &json!({"cursor": "rubbish"}))["error"]["code"], -32602);
}

#[test]
fn the_list_can_be_narrowed_to_a_directory_and_shows_titles() {
    let mut agent = Agent::ready(&json!({}));
    agent.prompt("Fix the bug\nplease");
    agent.call("session/new", &json!({"cwd": "/elsewhere", "mcpServers": []}));
    agent.next();
    let listed = agent.call("session/list", &json!({"cwd": "/mock"}))["result"]["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!((&listed[0]["title"], &listed[0]["cwd"]), (&json!("Fix the bug"), &json!("/mock")));
}

#[test]
fn a_closed_session_accepts_no_prompt_until_it_is_reopened() {
    let mut agent = Agent::ready(&json!({}));
    assert_eq!(agent.call("session/close", &json!({"sessionId": "mock-session-1"}))["result"], json!({}));
    assert_eq!(agent.prompt("hello").response["error"]["code"], -32002);
    assert_eq!(
        agent.call("session/list", &json!({}))["result"]["sessions"][0]["sessionId"],
        "mock-session-1"
    );
    agent.call("session/resume", &json!({"sessionId": "mock-session-1", "cwd": "/mock"}));
    agent.next();
    assert_eq!(agent.prompt("echo back").text(), "back");
}

#[test]
fn a_deleted_session_is_not_listed_and_deleting_it_again_succeeds() {
    let mut agent = Agent::ready(&json!({}));
    for _ in 0..2 {
        assert_eq!(
            agent.call("session/delete", &json!({"sessionId": "mock-session-1"}))["result"],
            json!({})
        );
    }
    assert_eq!(agent.call("session/list", &json!({}))["result"]["sessions"], json!([]));
    assert_eq!(agent.new_session()["sessionId"], "mock-session-2");
}

#[test]
fn the_state_file_keeps_sessions_across_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let start = || {
        let mut agent = Agent::start_with(|command| {
            command.env("MOCK_AGENT_STATE", &file);
        });
        agent.initialize(&json!({}));
        agent
    };
    let mut first = start();
    first.new_session();
    first.call(
        "session/set_config_option",
        &json!({"sessionId": "mock-session-1", "configId": "model", "value": "mock-large"}),
    );
    first.prompt("echo remember me");
    drop(first);

    let mut second = start();
    // The session is known, but not open on this connection.
    assert_eq!(second.prompt("hello").response["error"]["code"], -32002);
    let id =
        second.ask("session/load", &json!({"sessionId": "mock-session-1", "cwd": "/mock", "mcpServers": []}));
    let loaded = second.finish(id, |_| unreachable!());
    assert_eq!(loaded.text(), "remember me");
    assert_eq!(current(&loaded.response["result"]["configOptions"], "model"), "mock-large");
    second.next();
    assert_eq!(second.new_session()["sessionId"], "mock-session-2");
}

#[test]
fn an_invalid_state_file_stops_the_agent_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    std::fs::write(&file, "not ours").unwrap();
    let agent = Agent::start_with(|command| {
        command.env("MOCK_AGENT_STATE", &file);
    });
    let (status, stderr) = agent.wait();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("state.json"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not ours");
}

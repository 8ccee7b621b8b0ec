//! Initialization, authentication, and messages that are not valid requests.

use serde_json::json;

use crate::harness::Agent;

#[test]
fn initialize_names_version_capabilities_and_the_login() {
    let mut agent = Agent::start();
    let result = agent.initialize(&json!({}))["result"].clone();
    assert_eq!(result["protocolVersion"], 1);
    assert_eq!(
        result["agentCapabilities"],
        json!({
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": true},
            "sessionCapabilities": {
                "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}, "additionalDirectories": {},
            },
            "auth": {"logout": {}},
        })
    );
    assert_eq!(result["authMethods"].as_array().unwrap().len(), 1);
    assert_eq!(result["agentInfo"]["name"], "mock-agent");
}

#[test]
fn a_client_that_asks_for_another_version_is_offered_version_1() {
    let mut agent = Agent::start();
    let answer = agent.call("initialize", &json!({"protocolVersion": 7}));
    assert_eq!(answer["result"]["protocolVersion"], 1);
}

#[test]
fn lines_sent_right_after_initialize_are_not_refused() {
    let mut agent = Agent::start();
    let first = agent.ask("initialize", &json!({"protocolVersion": 1}));
    let second = agent.ask("session/new", &json!({"cwd": "/mock", "mcpServers": []}));
    assert_eq!(agent.next()["id"], first);
    let made = agent.next();
    assert_eq!(made["id"], second);
    assert_eq!(made["result"]["sessionId"], "mock-session-1");
}

#[test]
fn the_mock_login_succeeds_and_other_methods_are_refused() {
    let mut agent = Agent::start();
    let methods = agent.initialize(&json!({}))["result"]["authMethods"].clone();
    assert_eq!(agent.call("authenticate", &json!({"methodId": methods[0]["id"]}))["result"], json!({}));
    assert_eq!(agent.call("authenticate", &json!({"methodId": "other"}))["error"]["code"], -32602);
    assert_eq!(agent.call("logout", &json!({}))["result"], json!({}));
}

#[test]
fn if_login_is_required_sessions_are_refused_before_it() {
    let mut agent = Agent::start_with(|command| {
        command.env("MOCK_AGENT_REQUIRE_AUTH", "1");
    });
    agent.initialize(&json!({}));
    let refused = agent.call("session/new", &json!({"cwd": "/mock", "mcpServers": []}));
    assert_eq!(refused["error"]["code"], -32000);
    agent.call("authenticate", &json!({"methodId": "mock-login"}));
    assert_eq!(agent.new_session()["sessionId"], "mock-session-1");
}

#[test]
fn a_disabled_capability_is_neither_declared_nor_served() {
    for (without, loads, resumes) in
        [("load", false, true), ("resume", true, false), ("load,resume", false, false)]
    {
        let mut agent = Agent::start_with(|command| {
            command.env("MOCK_AGENT_WITHOUT", without);
        });
        let capabilities = agent.initialize(&json!({}))["result"]["agentCapabilities"].clone();
        assert_eq!(capabilities["loadSession"] == true, loads, "{without}: {capabilities}");
        assert_eq!(
            !capabilities["sessionCapabilities"]["resume"].is_null(),
            resumes,
            "{without}: {capabilities}"
        );
        let params = json!({"sessionId": "mock-session-9", "cwd": "/mock", "mcpServers": []});
        for (method, offered) in [("session/load", loads), ("session/resume", resumes)] {
            let code = agent.call(method, &params)["error"]["code"].clone();
            let expected = if offered { -32002 } else { -32601 };
            assert_eq!(code, expected, "{method} without {without}");
        }
    }
}

#[test]
fn an_unknown_method_and_a_line_that_is_not_json_get_errors() {
    let mut agent = Agent::ready(&json!({}));
    assert_eq!(agent.call("mock/unknown", &json!({}))["error"]["code"], -32601);
    agent.send_line("this is not JSON");
    let answer = agent.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32700)));
    assert_eq!(agent.prompt("echo still here").text(), "still here");
}

#[test]
fn the_agent_exits_cleanly_when_stdin_ends() {
    let mut agent = Agent::ready(&json!({}));
    agent.close_stdin();
    let (status, stderr) = agent.wait();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn the_agent_exits_when_stdin_ends_in_the_middle_of_a_turn() {
    let mut agent = Agent::ready(&json!({}));
    agent.ask_prompt("mock-session-1", "forever");
    agent.next_where(|message| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    agent.close_stdin();
    assert_eq!(agent.wait().0.code(), Some(0));
}

#[test]
fn the_same_input_gives_the_same_bytes_again() {
    let run = || {
        let mut agent = Agent::ready(&json!({}));
        let mut all = Vec::new();
        for prompt in ["help", "hello", "permission", "plan", "question", "noise-free", "usage"] {
            agent.ask_prompt("mock-session-1", prompt);
            loop {
                let line = agent.next_line().unwrap();
                let message: serde_json::Value = serde_json::from_slice(&line).unwrap();
                all.extend(line);
                match message["method"].as_str() {
                    Some("session/request_permission") => agent.answer(
                        &message,
                        &json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}}),
                    ),
                    Some("_sandboxagent/session/request_question") => {
                        agent.answer(&message, &json!({"status": "rejected"}));
                    }
                    Some(_) => {}
                    None => break,
                }
            }
        }
        String::from_utf8(all).unwrap()
    };
    assert_eq!(run(), run());
}

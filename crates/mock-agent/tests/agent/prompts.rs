//! Prompts that need nothing from the client.

use serde_json::json;

use crate::harness::Agent;

#[test]
fn help_lists_what_the_slash_commands_list() {
    let mut agent = Agent::start();
    agent.initialize(&json!({}));
    agent.call("session/new", &json!({"cwd": "/mock", "mcpServers": []}));
    let commands = agent.next()["params"]["update"]["availableCommands"].clone();
    let help = agent.prompt("help").text();
    for command in commands.as_array().unwrap() {
        let name = command["name"].as_str().unwrap();
        assert!(help.contains(&format!("- `{name}")), "{name}");
    }
    assert_eq!(agent.prompt("/HELP me").text(), help);
}

#[test]
fn echo_answers_with_exactly_the_rest_of_the_prompt() {
    let mut agent = Agent::ready(&json!({}));
    assert_eq!(agent.prompt("echo  two spaces,\nä line ").text(), " two spaces,\nä line ");
}

#[test]
fn any_other_prompt_is_quoted_in_several_chunks() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt("What is this?");
    assert!(turn.text().contains("\"What is this?\""), "{}", turn.text());
    assert!(turn.of("agent_message_chunk").len() > 3);
    assert_eq!(turn.stop_reason(), "end_turn");
    assert_eq!(agent.prompt("").stop_reason(), "end_turn");
}

#[test]
fn the_first_prompt_names_the_session_and_each_turn_reports_usage() {
    let mut agent = Agent::ready(&json!({}));
    let first = agent.prompt("hello");
    assert_eq!(first.of("session_info_update")[0]["title"], "hello");
    let second = agent.prompt("hello again");
    assert!(second.of("session_info_update").is_empty());
    let used = |turn: &crate::harness::Turn| turn.of("usage_update")[0]["used"].as_u64().unwrap();
    assert!(used(&second) > used(&first));
}

#[test]
fn stream_sends_the_requested_number_of_chunks_of_the_requested_size() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt("stream 2000 50");
    let chunks = turn.of("agent_message_chunk");
    assert_eq!(chunks.len(), 2000);
    for (index, chunk) in chunks.iter().enumerate() {
        let text = chunk["content"]["text"].as_str().unwrap();
        assert_eq!(text.len(), 50);
        assert!(text.starts_with(&format!("chunk {} ", index + 1)));
    }
}

#[test]
fn big_is_one_chunk() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt("big 3000000");
    assert_eq!(turn.of("agent_message_chunk").len(), 1);
    assert_eq!(turn.text().len(), 3_000_000);
}

#[test]
fn an_invalid_number_is_explained() {
    let mut agent = Agent::ready(&json!({}));
    for prompt in ["stream many", "big", "slow -1", "exit 256", "stderr 1e9", "permissions 1001"] {
        let turn = agent.prompt(prompt);
        assert_eq!(turn.stop_reason(), "end_turn", "{prompt}");
        assert!(turn.text().contains("number"), "{prompt}: {}", turn.text());
    }
}

#[test]
fn markdown_has_a_heading_a_list_code_a_table_and_a_link() {
    let text = Agent::ready(&json!({})).prompt("markdown").text();
    for part in ["# ", "\n- ", "\n1. ", "```rust", "|:--", "]("] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn think_sends_reasoning_before_it_answers() {
    let turn = Agent::ready(&json!({})).prompt("think");
    let kinds: Vec<_> = turn.updates.iter().map(|u| u["sessionUpdate"].as_str().unwrap()).collect();
    let thought = kinds.iter().position(|kind| *kind == "agent_thought_chunk").unwrap();
    let message = kinds.iter().position(|kind| *kind == "agent_message_chunk").unwrap();
    assert!(thought < message);
}

#[test]
fn each_step_of_a_plan_is_pending_then_in_progress_then_completed() {
    let turn = Agent::ready(&json!({})).prompt("plan");
    let plans = turn.of("plan");
    for step in 0..3 {
        let mut states: Vec<_> =
            plans.iter().map(|plan| plan["entries"][step]["status"].as_str().unwrap()).collect();
        states.dedup();
        assert_eq!(states, ["pending", "in_progress", "completed"], "step {step}");
    }
}

#[test]
fn a_tool_call_goes_from_pending_to_completed_with_input_and_output() {
    let turn = Agent::ready(&json!({})).prompt("tool");
    assert_eq!(turn.statuses(), ["pending", "in_progress", "completed"]);
    let call = turn.of("tool_call")[0];
    assert_eq!(call["rawInput"], json!({"path": "/mock/README.md"}));
    assert_eq!(call["locations"], json!([{"path": "/mock/README.md", "line": 1}]));
    let done = turn.of("tool_call_update")[1];
    assert_eq!(done["rawOutput"], json!({"lines": 42}));
    assert_eq!(done["content"][0]["content"]["text"], "42 lines");
    assert_eq!(done["toolCallId"], call["toolCallId"]);
}

#[test]
fn a_diff_comes_as_content_of_a_tool_call() {
    let turn = Agent::ready(&json!({})).prompt("diff");
    assert_eq!(turn.statuses(), ["in_progress", "completed"]);
    let diff = &turn.of("tool_call")[0]["content"][0];
    assert_eq!(diff["type"], "diff");
    assert_eq!(
        (&diff["oldText"], &diff["newText"]),
        (&json!("hello\nworld\n"), &json!("hello\nwhole world\n"))
    );
}

#[test]
fn images_sounds_and_resources_are_content_chunks() {
    let mut agent = Agent::ready(&json!({}));
    for (prompt, kinds) in [
        ("image", vec!["text", "image"]),
        ("audio", vec!["text", "audio"]),
        ("resource", vec!["text", "resource", "resource_link"]),
    ] {
        let turn = agent.prompt(prompt);
        let chunks = turn.of("agent_message_chunk");
        let types: Vec<_> = chunks.iter().map(|chunk| chunk["content"]["type"].as_str().unwrap()).collect();
        assert_eq!(types, kinds);
    }
    let image = agent.prompt("image").of("agent_message_chunk")[1]["content"].clone();
    assert_eq!(image["mimeType"], "image/png");
    assert!(image["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
}

#[test]
fn refuse_and_max_end_with_their_stop_reasons() {
    let mut agent = Agent::ready(&json!({}));
    assert_eq!(agent.prompt("refuse").stop_reason(), "refusal");
    assert_eq!(agent.prompt("max").stop_reason(), "max_tokens");
}

#[test]
fn error_is_a_json_rpc_error_and_the_session_continues() {
    let mut agent = Agent::ready(&json!({}));
    let error = agent.prompt("error").response["error"].clone();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32603), &json!("The mock agent was asked to fail"))
    );
    assert_eq!(agent.prompt("echo on").text(), "on");
}

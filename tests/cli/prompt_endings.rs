//! Unsuccessful ends of a prompt: cancelled, refused, crashed, or no server.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::support::{Place, Terminal};
use test_harness::Server;
use test_harness::server::fault_agent;

#[test]
fn ctrl_c_cancels_the_turn_and_waits_for_its_end() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["prompt", "mock", "forever"]);
    terminal.wait_for("tick");
    terminal.press_ctrl_c();
    let (code, screen) = terminal.end();
    assert!(screen.contains("cancelling"), "{screen}");
    assert!(screen.contains("stop reason: cancelled"), "{screen}");
    assert_eq!(code, Some(130), "{screen}");
    place.expect_nothing_left();
}

#[test]
fn ctrl_c_during_a_question_cancels_the_turn() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["prompt", "mock", "permission"]);
    terminal.wait_for("y or n> ");
    terminal.press_ctrl_c();
    let (code, screen) = terminal.end();
    assert!(screen.contains("stop reason: cancelled"), "{screen}");
    assert_eq!(code, Some(130), "{screen}");
}

/// An agent that opens a session, accepts a prompt, and never answers it, whatever it receives.
const STUBBORN: &str = r#"#!/bin/sh
while IFS= read -r line; do
  id=${line#*'"id":'}
  id=${id%%,*}
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"session/new"'*) result='{"sessionId":"s"}' ;;
    *'"session/prompt"'*)
      echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I received it."}}}}'
      continue ;;
    *) continue ;;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
sleep 60
"#;

#[test]
fn a_second_ctrl_c_exits_if_the_agent_does_not_stop() {
    let place = Place::new();
    let agent = format!("stubborn=sh '{}'", place.file("stubborn.sh", STUBBORN).display());
    let mut terminal = Terminal::start(&place, &["prompt", "stubborn", "hello", "--agent", &agent]);
    terminal.wait_for("I received it.");
    terminal.press_ctrl_c();
    terminal.wait_for("press Ctrl-C again");
    terminal.press_ctrl_c();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    place.wait_until_nothing_left();
}

#[test]
fn a_turn_that_stops_early_has_its_own_exit_code() {
    let place = Place::new();
    let refused = place.run(&["prompt", "mock", "refuse"]).exits(7).says("stop reason: refusal\n");
    assert!(refused.errors.contains("the turn stopped early: refusal"), "{}", refused.errors);
    place.run(&["prompt", "mock", "max"]).exits(7).says("stop reason: max_tokens\n");
}

#[test]
fn an_error_answer_and_a_crash_are_reported_with_the_agents_stderr() {
    let place = Place::new();
    place.run(&["prompt", "mock", "error"]).exits(6).says("The mock agent was asked to fail (-32603)");
    let died = place.run(&["prompt", "mock", "crash 3"]).exits(6);
    assert_eq!(died.output, "I am about to crash.\n");
    died.says(
        "the agent exited with code 3; the end of its standard error:\nmock-agent: crashing with code 3\n",
    );
    let agent = format!("dead='{}' --exit-at-start 4", fault_agent().display());
    let dead = place.run(&["prompt", "dead", "hello", "--agent", &agent]);
    assert_eq!(dead.code, Some(6), "{}", dead.errors);
    place
        .run(&["prompt", "none", "hello", "--agent", "none=/no/such/program"])
        .exits(6)
        .says("/no/such/program");
    place.expect_nothing_left();
}

#[test]
fn errors_of_a_prompt_without_a_server_do_not_mention_http() {
    let place = Place::new();
    let agent = format!("dead='{}' --exit-at-start 4", fault_agent().display());
    for arguments in [
        &["prompt", "none", "hello", "--agent", "none=/no/such/program"][..],
        &["prompt", "dead", "hello", "--agent", &agent],
        &["prompt", "qqqqqq", "hello"],
    ] {
        let finished = place.run(arguments);
        assert_ne!(finished.code, Some(0), "{arguments:?}");
        for word in ["server answered", "HTTP", "GET /", "POST", "DELETE", "?agent="] {
            assert!(!finished.errors.contains(word), "{arguments:?}: {}", finished.errors);
        }
    }
}

#[test]
fn errors_are_json_too_with_the_json_flag() {
    let place = Place::new();
    let died = place.run(&["prompt", "mock", "crash 3", "--json"]).exits(6);
    let last = died.json_lines().pop().unwrap();
    assert_eq!((last["type"].as_str(), last["exitCode"].as_u64()), (Some("error"), Some(6)));
    let reported: serde_json::Value = serde_json::from_str(&died.errors).unwrap();
    assert_eq!(reported["exitCode"], 6);
}

#[test]
fn an_agent_that_requires_a_login_is_reported_with_instructions() {
    let place = Place::new().with("MOCK_AGENT_REQUIRE_AUTH", "1");
    place.run(&["prompt", "mock", "echo x"]).exits(6).says("--auth mock-login (Mock login)");
    let printed = place.run(&["prompt", "mock", "echo x", "--auth", "mock-login"]).done();
    assert_eq!(printed.output, "x\n");
}

#[test]
fn an_unknown_agent_gets_a_suggestion() {
    let place = Place::new();
    place.run(&["prompt", "mokc", "hello"]).exits(3).says("did you mean `mock`?");
    place.run(&["prompt", "qqqqqq", "hello"]).exits(3).says("sandbox-agent agents list");
}

#[test]
fn a_missing_server_and_a_wrong_token_are_reported_with_the_next_step() {
    let server = Server::with().env("SANDBOX_AGENT_TOKEN", "open-sesame").start();
    let place = Place::of(&server);
    place.run(&["prompt", "mock", "hello"]).exits(4).says("--token-file");
    place.run(&["prompt", "mock", "hello", "--token", "wrong"]).exits(4).says("401");
    drop(server);
    place.run(&["prompt", "mock", "hello"]).exits(5).says("start it with `sandbox-agent server`");
    place.run(&["prompt", "mock", "hello", "--url", "nonsense"]).exits(2).says("nonsense");
    place.run(&["prompt", "mock"]).exits(2);
}

#[test]
fn a_closed_output_pipe_ends_the_turn_quietly() {
    let place = Place::new();
    let mut command = place.command_under(&["setsid", "--wait"], &["prompt", "mock", "slow 60"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = Vec::new();
    output.read_until(b' ', &mut first).unwrap();
    drop(output);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    place.expect_nothing_left();
}

//! `prompt`, with an engine in its own process and with a running server.

use serde_json::json;

use crate::support::Place;
use test_harness::Server;

#[test]
fn the_answer_is_on_standard_output_and_everything_else_on_standard_error() {
    let place = Place::new();
    let printed = place.run(&["prompt", "mock", "echo hello there"]).done();
    assert_eq!(printed.output, "hello there\n");
    assert!(printed.errors.starts_with("stop reason: end_turn\n"), "{}", printed.errors);
    let quiet = place.run(&["prompt", "mock", "--quiet", "tool"]).done();
    assert_eq!((quiet.output.as_str(), quiet.errors.as_str()), ("README.md has 42 lines.\n", ""));
    place.expect_nothing_left();
}

#[test]
fn the_agent_of_a_prompt_is_gone_when_the_command_ends() {
    let place = Place::new();
    let running = place.begin(&["prompt", "mock", "slow 1"]);
    test_harness::eventually("the agent runs", || {
        place.leftovers().iter().any(|command| command.contains("mock-agent")).then_some(())
    });
    running.end().done();
    place.expect_nothing_left();
}

#[test]
fn tool_calls_plans_and_thoughts_are_printed_on_standard_error() {
    let place = Place::new();
    let tool = place.run(&["prompt", "mock", "tool"]).done();
    assert_eq!(tool.output, "README.md has 42 lines.\n");
    let tool = tool.says("→ Count the lines of README.md\n✓ Count the lines of README.md\n");
    assert!(!tool.errors.contains('\x1b'), "no terminal, no colour: {:?}", tool.errors);
    place.run(&["prompt", "mock", "diff"]).done().says("✓ Edit greeting.txt\n  /mock/greeting.txt +1 -1\n");
    place
        .run(&["prompt", "mock", "plan"])
        .done()
        .says("plan:\n  [x] Look around\n  [>] Do the work\n  [ ] Tidy up\n");
    let thought = place.run(&["prompt", "mock", "think"]).done();
    assert_eq!(thought.output, "I have thought about it.\n");
    thought.says("thinking: The user wants me to think.");
}

#[test]
fn the_text_can_come_from_standard_input() {
    let place = Place::new();
    let printed = place.run_with_input("echo from\na pipe", &["prompt", "mock", "-"]).done();
    assert_eq!(printed.output, "from\na pipe\n");
    place.run_with_input("  \n", &["prompt", "mock", "-"]).exits(2).says("the prompt is empty");
}

#[test]
fn files_are_attached_to_the_text() {
    let place = Place::new();
    place.file("notes.md", "# Notes");
    place.file("dot.png", b"\x89PNG\r\n\x1a\n");
    let printed = place.run(&["prompt", "mock", "meta", "--file", "notes.md", "-f", "dot.png"]).done().output;
    assert!(printed.contains("notes.md") && printed.contains("image"), "{printed}");
    place.run(&["prompt", "mock", "meta", "--file", "absent.txt"]).exits(3).says("absent.txt");
    place.expect_nothing_left();
}

#[test]
fn the_agent_works_in_the_given_directory() {
    let place = Place::new();
    std::fs::create_dir(place.path("work")).unwrap();
    let shown = |path: &str| std::fs::canonicalize(place.path(path)).unwrap().display().to_string();
    let here = place.run(&["prompt", "mock", "cwd"]).done().output;
    assert!(here.contains(&shown(".")), "{here}");
    let there = place.run(&["prompt", "mock", "cwd", "--cwd", "work"]).done().output;
    assert!(there.contains(&shown("work")), "{there}");
    place.run(&["prompt", "mock", "cwd", "--cwd", "absent"]).exits(3).says("absent");
}

#[test]
fn model_and_mode_are_chosen_by_id_or_name() {
    let place = Place::new();
    let lines =
        place.run(&["prompt", "mock", "echo x", "--model", "mock-large", "--mode", "Plan", "--json"]).done();
    let reported = lines.output;
    assert!(reported.contains(r#""currentModeId":"plan""#), "{reported}");
    place
        .run(&["prompt", "mock", "echo x", "--model", "mock-lrge"])
        .exits(3)
        .says("did you mean mock-large? the agent has mock-small, mock-medium, mock-large");
}

#[test]
fn an_earlier_session_is_continued_if_the_agent_supports_it() {
    let place = Place::new();
    let forgotten = place.run(&["prompt", "mock", "echo first"]).done();
    assert!(!forgotten.errors.contains("continue with"), "{}", forgotten.errors);
    let state = place.path("state.json").display().to_string();
    let place = place.with("MOCK_AGENT_STATE", &state);
    let first = place.run(&["prompt", "mock", "echo first"]).done();
    let first = first.says("continue with: sandbox-agent prompt mock --session mock-session-1 ");
    assert_eq!(first.output, "first\n");
    let second = place.run(&["prompt", "mock", "echo second", "--session", "mock-session-1"]).done();
    assert_eq!(second.output, "second\n", "earlier text must not be printed again");
    place
        .run(&["prompt", "mock", "echo third", "--session", "mock-session-9"])
        .exits(3)
        .says("no such session");

    let server = Server::with().env("MOCK_AGENT_STATE", &state).start();
    let url = format!("http://127.0.0.1:{}", server.port);
    let there = format!("prompt mock --session mock-session-2 --url {url} ");
    place.run(&["prompt", "mock", "echo fourth", "--url", &url]).done().says(&there);
    let place = place.with("SANDBOX_AGENT_URL", &url);
    place.run(&["prompt", "mock", "echo fifth"]).done().says("prompt mock --session mock-session-3 \"");
}

#[test]
fn a_running_server_is_used_and_the_instance_is_gone_afterwards() {
    let server = Server::with().env("SANDBOX_AGENT_TOKEN", "open-sesame").start();
    let place = Place::of(&server);
    let token = place.file("token", "open-sesame\n").display().to_string();
    for arguments in [&["--token", "open-sesame"][..], &["--token-file", &token]] {
        let printed = place.run(&[&["prompt", "mock", "echo far"], arguments].concat()).done();
        assert_eq!(printed.output, "far\n");
    }
    let place = place.with("SANDBOX_AGENT_TOKEN", "open-sesame");
    let workspace = place.run(&["prompt", "mock", "cwd"]).done().output;
    let folder = std::fs::canonicalize(server.folder()).unwrap().display().to_string();
    assert!(workspace.contains(&folder), "the server's own workspace: {workspace}");
    let request = server.request("GET", "/v1/acp").header("Authorization", "Bearer open-sesame");
    assert_eq!(request.send().expect(200).json(), json!({"servers": []}));
}

#[test]
fn json_is_one_object_per_line_from_the_session_to_the_stop() {
    let place = Place::new();
    let lines = place.run(&["prompt", "mock", "tool", "--json"]).done().json_lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let session = kinds.iter().position(|kind| *kind == "session").unwrap();
    assert!(kinds[..session].iter().all(|kind| *kind == "recalled"), "{kinds:?}");
    assert!(kinds[session + 1..kinds.len() - 1].iter().all(|kind| *kind == "update"), "{kinds:?}");
    assert_eq!(lines[session]["sessionId"], "mock-session-1");
    assert_eq!(lines.last().unwrap()["stopReason"], "end_turn");
    assert_eq!(*kinds.last().unwrap(), "stop");
}

//! Permissions and questions: decided by a flag, or asked on a terminal.

use serde_json::json;

use crate::support::{Place, Terminal};
use test_harness::rpc::response;
use test_harness::{Server, eventually};

#[test]
fn a_decision_by_flag_is_sent_without_asking() {
    let place = Place::new();
    for (decision, answer) in [
        ("once", "granted with allow-once"),
        ("always", "granted with allow-always"),
        ("reject", "refused with reject-once"),
    ] {
        let printed = place.run(&["prompt", "mock", "permission", "--allow", decision]).done();
        assert_eq!(printed.output, format!("Permission {answer}.\n"));
        printed.says("? permission for Edit file 1: ");
    }
    let many = place.run(&["prompt", "mock", "permissions 20", "--allow", "once"]).done();
    assert!(many.output.ends_with("All 20 permissions are answered.\n"), "{}", many.output);
}

#[test]
fn without_a_terminal_nothing_is_allowed_unless_a_flag_permits_it() {
    let place = Place::new();
    let printed = place.run(&["prompt", "mock", "permission"]).exits(8);
    assert_eq!(printed.output, "Permission refused with reject-once.\n");
    printed.says("no terminal to ask on; see --allow").says("--allow once, --allow always or --allow reject");
    let reported = place.run(&["prompt", "mock", "permission", "--json"]).exits(8).errors;
    let reported: serde_json::Value = serde_json::from_str(&reported).unwrap();
    assert_eq!(reported["exitCode"], 8);
    place.run(&["prompt", "mock", "permission", "--allow", "ask"]).exits(2).says("--allow once");
    let question = place.run(&["prompt", "mock", "question"]).done();
    assert_eq!(question.output, "Question rejected.\n");
    let form = place.run(&["prompt", "mock", "elicit"]).done();
    assert!(form.output.contains("cannot show forms"), "{}", form.output);
}

#[test]
fn the_user_is_asked_and_answers_by_number_or_letter() {
    let place = Place::new();
    for (keys, answer) in [
        ("y\n", "granted with allow-once"),
        ("2\n", "granted with allow-always"),
        ("n\n", "refused with reject-once"),
        ("what?\n4\n", "refused with reject-always"),
        ("\x04", "refused with reject-once"),
    ] {
        let mut terminal = Terminal::start(&place, &["prompt", "mock", "permission"]);
        terminal.wait_for("Allow: Edit file 1");
        terminal.wait_for("1) Allow once");
        terminal.wait_for("y or n> ");
        for line in keys.split_inclusive('\n') {
            terminal.press(line);
        }
        let (code, screen) = terminal.end();
        assert!(screen.contains(&format!("Permission {answer}.")), "{keys:?}: {screen}");
        assert_eq!(code, Some(0), "{screen}");
    }
    place.expect_nothing_left();
}

#[test]
fn questions_are_asked_one_at_a_time_even_if_the_output_is_a_file() {
    let place = Place::new();
    let file = std::fs::File::create(place.path("answer")).unwrap();
    let arguments = ["prompt", "mock", "permissions 2"];
    let mut terminal = Terminal::start_with_output(&place, &arguments, Some(file));
    terminal.wait_for("Allow: Edit file 1");
    terminal.press("y\n");
    terminal.wait_for("Allow: Edit file 2");
    terminal.press("n\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    let answer = std::fs::read_to_string(place.path("answer")).unwrap();
    assert!(answer.contains("Permission 1 granted with allow-once."), "{answer}");
    assert!(answer.contains("Permission 2 refused with reject-once."), "{answer}");
}

#[test]
fn an_agent_question_is_answered_on_the_terminal() {
    let place = Place::new();
    for (keys, answer) in [("2\n", "answered: option-b"), ("\n", "rejected")] {
        let mut terminal = Terminal::start(&place, &["prompt", "mock", "question"]);
        terminal.wait_for("Which option?");
        terminal.wait_for("2) Option B");
        terminal.press(keys);
        let (_, screen) = terminal.end();
        assert!(screen.contains(&format!("Question {answer}.")), "{screen}");
    }
}

#[test]
fn a_question_answered_by_another_client_is_withdrawn() {
    let server = Server::start();
    let place = Place::of(&server);
    let terminal = Terminal::start(&place, &["prompt", "mock", "permission"]);
    terminal.wait_for("y or n> ");
    let list = server.request("GET", "/v1/acp").send().expect(200).json();
    let id = list["servers"][0]["serverId"].as_str().unwrap().to_owned();
    let asked = list["servers"][0]["awaiting"][0]["id"].clone();
    let answer = json!({"outcome": {"outcome": "selected", "optionId": "allow-always"}});
    server.post(&id, response(asked, answer)).send().expect(202);
    let (code, screen) = terminal.end();
    assert!(screen.contains("answered elsewhere"), "{screen}");
    assert!(screen.contains("Permission granted with allow-always."), "{screen}");
    assert_eq!(code, Some(0));
    eventually("the instance is gone", || server.summary(&id).is_none().then_some(()));
}

#[test]
fn a_form_is_filled_in_on_the_terminal() {
    let place = Place::new();
    // A policy for permissions does not answer forms.
    for flags in [&[][..], &["--allow", "once"]] {
        let mut terminal = Terminal::start(&place, &[&["prompt", "mock", "elicit"], flags].concat());
        terminal.wait_for("Please fill in the form.\nColour\n  1) red\n  2) green\n  3) blue\n");
        terminal.press("2\n");
        terminal.wait_for("Count (required)\nnumber; - declines> ");
        terminal.press("-1\n");
        terminal.wait_for("the number must be at least 0");
        terminal.press("3\n");
        terminal.wait_for("Name (required)");
        terminal.press("Ada\n");
        terminal.wait_for("Sure\ny or n; empty means n; - declines> ");
        terminal.press("y\n");
        let (code, screen) = terminal.end();
        let filled = r#"Form accepted: {"colour":"green","count":3,"name":"Ada","sure":true}."#;
        assert!(screen.contains(filled), "{screen}");
        assert!(screen.contains("? Please fill in the form.: accepted"), "{screen}");
        assert_eq!(code, Some(0), "{screen}");
    }
}

#[test]
fn a_form_can_be_declined_and_dismissed() {
    let place = Place::new();
    for (keys, answer) in [("-\n", "declined"), ("\x04", "dismissed")] {
        let mut terminal = Terminal::start(&place, &["prompt", "mock", "elicit"]);
        terminal.wait_for("declines> ");
        terminal.press(keys);
        let (code, screen) = terminal.end();
        assert!(screen.contains(&format!("Form {answer}.")), "{keys:?}: {screen}");
        assert_eq!(code, Some(0), "{screen}");
    }
}

/// An agent that asks for permission to change a file. The request names a tool call that was announced before.
const EDITOR: &str = r#"#!/bin/sh
while IFS= read -r line; do
  id=${line#*'"id":'}
  id=${id%%,*}
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"session/new"'*) result='{"sessionId":"s"}' ;;
    *'"session/prompt"'*)
      prompt=$id
      printf '%s\n' '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit boat.txt","rawInput":{"hidden":"json"},"content":[{"type":"diff","path":"/w/boat.txt","oldText":"hull\nmast\nsail\n","newText":"hull\nengine\nsail\n"}]}}}'
      echo '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
      continue ;;
    *'"outcome"'*) id=$prompt; result='{"stopReason":"end_turn"}' ;;
    *) continue ;;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
"#;

#[test]
fn a_permission_shows_the_change_of_a_file_as_a_diff() {
    let place = Place::new().with("NO_COLOR", "1");
    let agent = format!("editor=sh '{}'", place.file("editor.sh", EDITOR).display());
    let mut terminal = Terminal::start(&place, &["prompt", "editor", "go", "--agent", &agent]);
    terminal.wait_for("y or n> ");
    terminal.press("y\n");
    let (code, screen) = terminal.end();
    let shown = "Allow: Edit boat.txt\n  /w/boat.txt\n  @@ -1 +1 @@\n   hull\n  -mast\n  +engine\n   sail\n  1) Yes\n";
    assert!(screen.contains(shown), "{screen}");
    assert!(!screen.contains("hidden"), "{screen}");
    assert_eq!(code, Some(0), "{screen}");
}

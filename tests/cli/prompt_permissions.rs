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

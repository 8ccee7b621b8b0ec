//! Permissions, questions and forms.

use serde_json::{Value, json};

use crate::harness::{Agent, all_capabilities};

fn select(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

#[test]
fn a_permission_offers_the_four_kinds_and_decides_the_tool_call() {
    let mut agent = Agent::ready(&json!({}));
    for (option, status, words) in [
        ("allow-once", "completed", "Permission granted with allow-once."),
        ("allow-always", "completed", "Permission granted with allow-always."),
        ("reject-once", "failed", "Permission refused with reject-once."),
        ("reject-always", "failed", "Permission refused with reject-always."),
        ("made-up", "failed", "Permission refused: made-up was not an option."),
    ] {
        let turn = agent.prompt_answering("permission", |_| select(option));
        let request = &turn.others[0];
        assert_eq!(request["method"], "session/request_permission");
        assert_eq!(request["params"]["sessionId"], "mock-session-1");
        let options = request["params"]["options"].as_array().unwrap();
        let kinds: Vec<_> = options.iter().map(|option| option["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_always"]);
        assert_eq!(request["params"]["toolCall"]["toolCallId"], turn.of("tool_call")[0]["toolCallId"]);
        assert_eq!(turn.statuses(), ["pending", status]);
        assert_eq!(turn.text(), words);
        assert_eq!(turn.stop_reason(), "end_turn");
    }
}

#[test]
fn a_cancelled_permission_ends_the_turn_as_cancelled() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt_answering("permission", |_| json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(turn.statuses(), ["pending", "failed"]);
    assert_eq!(turn.stop_reason(), "cancelled");
}

#[test]
fn the_agents_requests_are_numbered_from_0() {
    let mut agent = Agent::ready(&json!({}));
    let ids: Vec<_> = (0..3)
        .map(|_| agent.prompt_answering("permission", |_| select("allow-once")).others[0]["id"].clone())
        .collect();
    assert_eq!(ids, [0, 1, 2]);
}

#[test]
fn a_question_is_sent_with_the_extensions_method_and_payload() {
    let mut agent = Agent::ready(&json!({}));
    let turn = agent.prompt_answering(
        "question",
        |_| json!({"status": "answered", "answers": [["option-a", "option-b"]]}),
    );
    assert_eq!(turn.others[0]["method"], "_sandboxagent/session/request_question");
    assert_eq!(
        turn.others[0]["params"],
        json!({
            "sessionId": "mock-session-1",
            "questionId": "mock-question-1-1",
            "prompt": "Which option?",
            "options": [["option-a", "Option A"], ["option-b", "Option B"]],
        })
    );
    assert_eq!(turn.text(), "Question answered: option-a and option-b.");
    let turn = agent.prompt_answering("question", |_| json!({"status": "rejected"}));
    assert_eq!(turn.text(), "Question rejected.");
}

#[test]
fn an_error_response_to_a_question_is_reported_in_text() {
    let mut agent = Agent::ready(&json!({}));
    let id = agent.ask_prompt("mock-session-1", "question");
    let request = agent.next_where(|message| message.get("id").is_some());
    let error = json!({"code": -32601, "message": "Method not found"});
    agent.send_line(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string());
    let turn = agent.finish(id, |_| unreachable!());
    assert!(turn.text().contains("Method not found"), "{}", turn.text());
    assert_eq!(turn.stop_reason(), "end_turn");
}

#[test]
fn many_permissions_are_open_at_once_and_answered_in_any_order() {
    let mut agent = Agent::ready(&json!({}));
    let id = agent.ask_prompt("mock-session-1", "permissions 5");
    let requests: Vec<_> = (0..5).map(|_| agent.next_where(|message| message.get("id").is_some())).collect();
    for (index, request) in requests.iter().enumerate().rev() {
        agent.answer(request, &select(if index == 0 { "reject-once" } else { "allow-once" }));
    }
    let text = agent.finish(id, |_| unreachable!()).text();
    assert!(text.starts_with("Permission 1 refused with reject-once.\nPermission 2 granted"), "{text}");
    assert!(text.ends_with("All 5 permissions are answered."), "{text}");
}

#[test]
fn many_questions_are_open_at_once() {
    let mut agent = Agent::ready(&json!({}));
    let id = agent.ask_prompt("mock-session-1", "questions 3");
    let requests: Vec<_> = (0..3).map(|_| agent.next_where(|message| message.get("id").is_some())).collect();
    for request in requests.iter().rev() {
        agent.answer(request, &json!({"status": "answered", "answers": [[request["params"]["questionId"]]]}));
    }
    let text = agent.finish(id, |_| unreachable!()).text();
    assert!(text.contains("Question 3 answered: mock-question-1-3."), "{text}");
    assert!(text.ends_with("All 3 questions are answered."), "{text}");
}

#[test]
fn a_form_has_a_string_a_number_a_boolean_and_an_enum() {
    let mut agent = Agent::ready(&all_capabilities());
    let content = json!({"name": "Ada", "count": 2.5, "sure": true, "colour": "red"});
    let turn = agent.prompt_answering("elicit", |_| json!({"action": "accept", "content": content}));
    let params = &turn.others[0]["params"];
    assert_eq!(turn.others[0]["method"], "elicitation/create");
    assert_eq!((&params["mode"], &params["sessionId"]), (&json!("form"), &json!("mock-session-1")));
    let properties = &params["requestedSchema"]["properties"];
    for (name, kind) in [("name", "string"), ("count", "number"), ("sure", "boolean"), ("colour", "string")] {
        assert_eq!(properties[name]["type"], kind);
    }
    assert_eq!(properties["colour"]["enum"], json!(["red", "green", "blue"]));
    assert_eq!(params["requestedSchema"]["required"], json!(["name", "count"]));
    let text = turn.text();
    let answer = text.strip_prefix("Form accepted: ").and_then(|rest| rest.strip_suffix('.')).unwrap();
    assert_eq!(serde_json::from_str::<Value>(answer).unwrap(), content);

    assert_eq!(agent.prompt_answering("elicit", |_| json!({"action": "decline"})).text(), "Form declined.");
    assert_eq!(agent.prompt_answering("elicit", |_| json!({"action": "cancel"})).text(), "Form dismissed.");
}

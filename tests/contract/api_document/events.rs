//! Stream events match their schemas in the API document, kind by kind. The server writes events as text, so only
//! these tests compare them with their descriptions.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::document;
use super::schema::{misfit, unnamed};
use crate::durability::{limitable, suspend_and_resume};
use test_harness::Server;
use test_harness::rpc::{call, response};
use test_harness::sse::Event;

/// Checks events against the kinds of a schema; returns the names of the kinds seen.
fn check(schema: &str, events: &[Event]) -> BTreeSet<String> {
    let document = document();
    let kinds = document["components"]["schemas"][schema]["oneOf"].as_array().unwrap();
    for event in events {
        let kind = kinds.iter().find(|kind| kind["properties"]["event"]["enum"] == json!([event.name]));
        let kind = kind.unwrap_or_else(|| panic!("{schema} has no event {}", event.name));
        let payload = &kind["properties"]["data"]["contentSchema"];
        let data = event.json();
        assert_eq!(misfit(&document, payload, &data), None, "{}: {data}", event.name);
        assert_eq!(unnamed(&document, payload, &data), None, "{}: {data}", event.name);
    }
    events.iter().map(|event| event.name.clone()).collect()
}

fn names(schema: &str) -> BTreeSet<String> {
    let document = document();
    let kinds = document["components"]["schemas"][schema]["oneOf"].as_array().unwrap();
    let name = |kind: &Value| kind["properties"]["event"]["enum"][0].as_str().unwrap().to_owned();
    kinds.iter().map(name).collect()
}

/// Makes an instance send every kind of event and then exit.
fn send_every_event_and_exit(server: &Server) {
    server.open("a", "fault");
    suspend_and_resume(server, "a");
    server.tell("a", "raw", json!({"text": "noise\n"}));
    server.tell("a", "ask", json!({"id": "q", "method": "m", "params": {}}));
    server.post("a", response("q", json!(1))).send().expect_accepted();
    let never = server.post("a", call("n", "never", json!({}))).header("Prefer", "respond-async");
    never.send().expect_accepted();
    server.post("a", call("x", "exit", json!({"code": 1}))).send().problem(502, "agent_exited");
}

#[test]
fn the_events_of_an_instance_are_as_documented() {
    let server = limitable(Server::with()).start();
    send_every_event_and_exit(&server);
    let journal = server.get("a").query("view", "journal").stream().rest();
    let mut seen = check("StreamEvent", &journal);
    let gap = server.get("a").header("Last-Event-ID", "1").stream().rest();
    seen.extend(check("StreamEvent", &gap));
    assert_eq!(seen, names("StreamEvent"));
}

#[test]
fn the_events_of_many_instances_are_as_documented() {
    let server = limitable(Server::with()).start();
    let watch = |cursor: &str| {
        let request = server.request("GET", "/v1/acp?view=journal").header("Accept", "text/event-stream");
        request.header("Last-Event-ID", cursor).stream()
    };
    let mut stream = watch("0");
    let mut events = vec![stream.next()];
    send_every_event_and_exit(&server);
    server.delete("a").send().expect(204);
    while events.last().is_none_or(|event| event.name != "closed") {
        events.push(stream.next());
    }
    let mut late = watch("j1");
    events.extend([late.next(), late.until(|event| event.name == "gap")]);
    assert_eq!(check("ManyStreamEvent", &events), names("ManyStreamEvent"));
}

#[test]
fn an_instance_and_its_end_are_listed_as_documented() {
    let server = limitable(Server::with()).start();
    send_every_event_and_exit(&server);
    server.open("b", "fault");
    server.tell("b", "ask", json!({"id": 7, "method": "m", "params": {}}));
    let broken = server.post("c", call(1, "echo", json!({}))).query("agent", "nobody");
    broken.send().problem(400, "unknown_agent");
    let document = document();
    let list = server.request("GET", "/v1/acp").send().expect(200).json();
    let schema = json!({"$ref": "#/components/schemas/InstanceList"});
    assert_eq!(misfit(&document, &schema, &list), None);
    let servers = list["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 2);
    for server in servers {
        let instance = json!({"$ref": "#/components/schemas/Instance"});
        assert_eq!(unnamed(&document, &instance, server), None);
    }
    let exit = json!({"$ref": "#/components/schemas/ExitReport"});
    assert_eq!(unnamed(&document, &exit, &servers[0]["exit"]), None);
}

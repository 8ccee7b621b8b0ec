//! GET /v1/acp: the list of instances.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::call;

#[test]
fn the_list_has_every_field_of_the_contract() {
    let server = Server::start();
    let empty = server.request("GET", "/v1/acp").send().expect(200);
    assert_eq!(empty.json(), json!({"servers": []}));
    assert_eq!(empty.headers.get("content-type"), Some("application/json"));
    let before = u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    server.open("a", "fault");
    server.tell("a", "ask", json!({"id": 7, "method": "m", "params": {}}));
    server.post("a", call(1, "never", json!({}))).header("Prefer", "respond-async").send().expect_accepted();
    let mut stream = server.stream("a");
    let question = stream.until(|event| event.json()["method"] == "m").number();
    let answer = stream.next().number();
    let summary = server.summary("a").unwrap();
    assert_eq!((&summary["agent"], &summary["status"]), (&json!("fault"), &json!("running")));
    assert!(summary["pid"].as_u64().is_some());
    let (created, active) =
        (summary["createdAtMs"].as_u64().unwrap(), summary["lastActivityMs"].as_u64().unwrap());
    assert!(before <= created && created <= active);
    assert_eq!(summary["lastEventId"], answer);
    assert_eq!(summary["pendingRequests"], 1);
    assert_eq!(summary["awaiting"], json!([{"id": 7, "event": question}]));
    assert_eq!(summary["readers"], 1);
}

#[test]
fn an_exited_instance_stays_listed_with_its_exit_until_delete() {
    let server = Server::start();
    server.open("a", "fault");
    server.post("a", call(1, "exit", json!({"code": 4}))).send().problem(502, "agent_exited");
    let summary = server.summary("a").unwrap();
    assert_eq!((&summary["status"], &summary["pid"]), (&json!("exited"), &json!(null)));
    assert_eq!(summary["exit"]["code"], 4);
    server.delete("a").send().expect(204);
    assert_eq!(server.summary("a"), None);
}

#[test]
fn the_list_is_available_as_json_only() {
    let server = Server::start();
    server.request("GET", "/v1/acp").header("Accept", "text/html").send().problem(406, "not_acceptable");
    server.request("GET", "/v1/acp").header("Accept", "*/*").send().expect(200).json();
}

#[test]
fn the_list_can_be_filtered_with_the_same_parameters_as_the_stream() {
    let server = Server::start();
    for id in ["a", "b", "c"] {
        server.open(id, "fault");
    }
    let listed = |query: &str| {
        let list = server.request("GET", &format!("/v1/acp{query}")).send().expect(200).json();
        let servers = list["servers"].as_array().unwrap().clone();
        servers.iter().map(|one| one["serverId"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(listed(""), "a b c");
    assert_eq!(listed("?server=c&server=a&server=nobody"), "a c");
    for query in ["?view=both", "?replay=some"] {
        server.request("GET", &format!("/v1/acp{query}")).send().problem(400, "invalid_parameter");
    }
    server.request("GET", "/v1/acp?server=.").send().problem(400, "invalid_server_id");
    let foreign = server.request("GET", "/v1/acp").header("Last-Event-ID", "yesterday");
    foreign.send().problem(400, "invalid_cursor");
}

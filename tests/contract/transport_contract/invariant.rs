//! The server never interprets a method's name or params and never adds messages of its own.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::response;

#[test]
fn sandboxagent_methods_pass_through_untouched_in_both_directions() {
    let server = Server::start();
    server.open("a", "fault");
    let mut stream = server.get("a").query("replay", "none").stream();
    for method in ["_sandboxagent/session/list", "_sandboxagent/session/set_metadata", "_sandboxagent/x"] {
        // To the agent: the error must come from the agent, which does not know the method, and not from the
        // server.
        let request = format!(r#"{{"jsonrpc":"2.0","id":"r","method":"{method}","params":{{"b":1,"a":2}}}}"#);
        let answer = server.post("a", request).send().expect(200).json();
        assert_eq!(answer["error"]["message"], format!("unknown method {method}"));
        stream.next();
        // From the agent, as a notification and as a request.
        for line in [
            format!(r#"{{"method":"{method}","params":{{"z":1,"a":2}},"jsonrpc":"2.0"}}"#),
            format!(r#"{{"id":"q-{method}","method":"{method}","params":{{"z":1,"a":2}},"jsonrpc":"2.0"}}"#),
        ] {
            server.tell("a", "raw", json!({"text": format!("{line}\n")}));
            assert_eq!(stream.next().data, line);
            stream.next();
        }
        server
            .post("a", response(format!("q-{method}"), json!({"status": "rejected"})))
            .send()
            .expect_accepted();
        assert_eq!(stream.next().name, "answered");
        assert!(stream.next().is_call_of("asked"));
    }
}

#[test]
fn any_method_name_is_forwarded() {
    let server = Server::start();
    server.open("a", "fault");
    for method in ["", "$/cancel_request", "initialize2", "rpc.discover", "session/new", "\u{1F600}", "a b"] {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
        let answer = server.post("a", request).send().expect(200).json();
        assert_eq!(answer["error"]["message"], format!("unknown method {method}"));
    }
}

#[test]
fn the_server_adds_no_message_to_the_conversation() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "echo", json!(1));
    server.post("a", test_harness::rpc::call("x", "exit", json!({}))).send().problem(502, "agent_exited");
    let mut journal = server.get("a").query("view", "journal").stream();
    let events = journal.rest();
    let sent = events.iter().filter(|event| event.name == "sent").count();
    let messages = events.iter().filter(|event| event.name == "message").count();
    assert_eq!((sent, messages), (3, 2), "expected three requests and two answers");
}

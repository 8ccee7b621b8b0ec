//! A protocol-conforming client of the mock agent.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::schema::{Part, check};
use test_harness::rpc::{call, response};
use test_harness::{Server, Stream};

/// One conversation with an instance.
pub(super) struct Conversation {
    server: Server,
    stream: Stream,
    calls: u64,
}

impl Conversation {
    /// Starts a server and initializes a mock agent.
    #[track_caller]
    pub(super) fn start() -> Self {
        let server = Server::start();
        let capabilities = json!({
            "fs": {"readTextFile": true, "writeTextFile": true},
            "terminal": true,
            "elicitation": {"form": {}},
        });
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let hello =
            server.post("a", call("init", "initialize", params)).query("agent", "mock").send().expect(200);
        assert_eq!(hello.json()["result"]["protocolVersion"], 1);
        let stream = server.get("a").query("replay", "none").stream();
        Self { server, stream, calls: 0 }
    }

    /// Sends a request and returns its result.
    #[track_caller]
    pub(super) fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let answer = self.server.post("a", call(self.calls, method, params)).send().expect(200).json();
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Creates a session and returns its id.
    #[track_caller]
    pub(super) fn new_session(&mut self) -> String {
        let made = self.call("session/new", json!({"cwd": "/mock", "mcpServers": []}));
        made["sessionId"].as_str().expect("a session has an id").to_owned()
    }

    /// Sends a prompt and answers the agent's requests; returns all messages, the response last.
    #[track_caller]
    pub(super) fn prompt(&mut self, session: &str, text: &str) -> Vec<Value> {
        self.calls += 1;
        let id = json!(format!("prompt-{}", self.calls));
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        let post = self.server.post("a", call(id.clone(), "session/prompt", params));
        post.header("Prefer", "respond-async").send().expect_accepted();
        let mut came = Vec::new();
        loop {
            let event = self.stream.next();
            if event.name != "message" {
                continue;
            }
            let message = event.json();
            if message["method"].is_string() && !message["id"].is_null() {
                let result = self.answer_to(&message);
                self.server.post("a", response(message["id"].clone(), result)).send().expect_accepted();
            }
            came.push(message);
            if event.answers(&id) {
                return came;
            }
        }
    }

    /// The client's answer to each kind of agent request.
    fn answer_to(&self, request: &Value) -> Value {
        match request["method"].as_str().expect("a request has a method") {
            "session/request_permission" => {
                let option = request["params"]["options"][0]["optionId"].clone();
                json!({"outcome": {"outcome": "selected", "optionId": option}})
            }
            "_sandboxagent/session/request_question" => {
                json!({"status": "answered", "answers": [["option-a"]]})
            }
            "elicitation/create" => json!({"action": "decline"}),
            "fs/read_text_file" => json!({"content": "some text"}),
            "fs/write_text_file" | "terminal/release" | "terminal/kill" => json!({}),
            "terminal/create" => json!({"terminalId": "t1"}),
            "terminal/wait_for_exit" => json!({"exitCode": 0}),
            "terminal/output" => {
                json!({"output": "done\n", "truncated": false, "exitStatus": {"exitCode": 0}})
            }
            other => panic!("unexpected request from the agent: {other}"),
        }
    }

    /// Checks all messages in both directions against the schema. Returns their number.
    #[track_caller]
    pub(super) fn check_all(mut self) -> usize {
        let end = self.call("session/list", json!({}));
        assert!(end["sessions"].is_array());
        let mut journal = self.server.get("a").query("view", "journal").stream();
        let last = json!(self.calls);
        let events = journal.up_to(|event| event.answers(&last));
        let mut asked: HashMap<(bool, String), String> = HashMap::new();
        for event in &events {
            if !["sent", "message"].contains(&event.name.as_str()) {
                continue;
            }
            let (message, by_client) = (event.json(), event.name == "sent");
            assert_eq!(message["jsonrpc"], "2.0");
            if let Some(method) = message["method"].as_str() {
                check(method, Part::Params, &message["params"]);
                asked.insert((by_client, message["id"].to_string()), method.to_owned());
            } else if message["error"].is_null() {
                let method = &asked[&(!by_client, message["id"].to_string())];
                check(method, Part::Result, &message["result"]);
            }
        }
        events.len()
    }
}

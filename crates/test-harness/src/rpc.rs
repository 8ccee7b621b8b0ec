//! Sends messages to agents through the server.

use serde_json::{Value, json};

use super::{Process, Request, Server, Stream};

/// A JSON-RPC request.
pub fn call(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}).to_string()
}

/// A JSON-RPC notification.
pub fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// A JSON-RPC response.
pub fn response(id: impl Into<Value>, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result}).to_string()
}

/// The path of an instance.
pub fn path(server_id: &str) -> String {
    format!("/v1/acp/{server_id}")
}

impl Server {
    /// A POST of one message to an instance.
    pub fn post(&self, server_id: &str, message: impl Into<Vec<u8>>) -> Request {
        self.request("POST", &path(server_id)).body(message)
    }

    /// Creates an instance of an agent and waits until it answers.
    #[track_caller]
    pub fn open(&self, server_id: &str, agent: &str) {
        let hello = call("hello", "initialize", json!({"protocolVersion": 1}));
        self.post(server_id, hello).query("agent", agent).send().expect(200);
    }

    /// Sends a request to a running agent and returns its result.
    #[track_caller]
    pub fn tell(&self, server_id: &str, method: &str, params: Value) -> Value {
        let id = format!("tell-{:?}-{method}", std::time::Instant::now());
        let answer = self.post(server_id, call(id, method, params)).send().expect(200).json();
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The stream of an instance.
    pub fn get(&self, server_id: &str) -> Request {
        self.request("GET", &path(server_id)).header("Accept", "text/event-stream")
    }

    /// The stream of an instance, from its oldest retained message.
    #[track_caller]
    pub fn stream(&self, server_id: &str) -> Stream {
        self.get(server_id).stream()
    }

    pub fn delete(&self, server_id: &str) -> Request {
        self.request("DELETE", &path(server_id))
    }

    /// The instance's entry in the list.
    #[track_caller]
    pub fn summary(&self, server_id: &str) -> Option<Value> {
        let list = self.request("GET", "/v1/acp").send().expect(200).json();
        let servers = list["servers"].as_array().expect("the list has servers");
        servers.iter().find(|one| one["serverId"] == server_id).cloned()
    }

    /// Waits until an instance's entry in the list satisfies a condition.
    #[track_caller]
    pub fn wait_for(&self, server_id: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        super::eventually(what, || self.summary(server_id).filter(|summary| holds(summary)))
    }

    /// The agent's process.
    #[track_caller]
    pub fn agent_process(&self, server_id: &str) -> Process {
        let running = self.wait_for(server_id, "the agent runs", |summary| summary["pid"].is_u64());
        Process::of(u32::try_from(running["pid"].as_u64().expect("a number")).expect("a process id"))
    }

    /// Makes the agent start a process; `what` is `spawn_daemon` or `spawn_child`.
    #[track_caller]
    pub fn spawn(&self, server_id: &str, what: &str, params: Value) -> Process {
        let pid = self.tell(server_id, what, params)["pid"].as_u64().expect("the agent returns a process id");
        Process::of(u32::try_from(pid).expect("a process id"))
    }
}

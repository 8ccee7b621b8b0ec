//! Support for this suite, in addition to the harness.

pub(crate) mod agent;
pub(crate) mod depot;
pub(crate) mod machine;
pub(crate) mod npm;

use serde_json::{Value, json};

use test_harness::rpc::call;
use test_harness::{Request, Server};

pub(crate) use agent::script;
pub(crate) use depot::Depot;
pub(crate) use machine::Machine;

/// An address at which no server listens.
pub(crate) const NO_SERVER: &str = "http://127.0.0.1:1/registry.json";

/// The first POST of a client: it names the agent and sends `initialize`.
pub(crate) fn hello(server: &Server, server_id: &str, agent: &str) -> Request {
    let initialize = call(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
    server.post(server_id, initialize).query("agent", agent)
}

/// Sends a request to a running agent.
#[track_caller]
pub(crate) fn ask(server: &Server, server_id: &str, id: u64, method: &str) -> Value {
    server.post(server_id, call(id, method, json!({}))).send().expect(200).json()["result"].clone()
}

/// The server's description of an agent.
#[track_caller]
pub(crate) fn show(server: &Server, agent: &str) -> Value {
    server.request("GET", &format!("/v1/agents/{agent}")).send().expect(200).json()
}

/// A request to install an agent.
pub(crate) fn install(server: &Server, agent: &str, body: &Value) -> Request {
    server.request("POST", &format!("/v1/agents/{agent}/install")).body(body.to_string())
}

//! JSON-RPC with one agent, whatever the transport: ids, requests, notifications and answers.
//!
//! All but the first answer are received from the instance's events, so everything that the agent sends has one order.

use serde_json::{Value, json};

use super::incoming::{Incoming, RpcError, read_message};
use super::transport::{Numbered, Received, Transport};
use crate::cli::error::CliError;

/// The way to the agent.
#[derive(Debug)]
pub(super) struct Link {
    transport: Transport,
    /// How many messages were sent; the number of the last one is its id too, where it is a request.
    sent: u64,
}

impl Link {
    pub(super) const fn new(transport: Transport) -> Self {
        Self { transport, sent: 0 }
    }

    pub(super) fn server_id(&self) -> &str {
        self.transport.server_id()
    }

    /// Starts the agent with its first request and waits for the answer: an agent that cannot be started leaves no
    /// events to read the reason from. Only this names the agent; later that could start a second process.
    pub(super) async fn start(
        &mut self,
        agent: &str,
        params: &Value,
    ) -> Result<Result<Value, RpcError>, CliError> {
        self.sent += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.sent, "method": "initialize", "params": params});
        let answer = self.transport.start(agent, Numbered { number: self.sent, message: &message }).await?;
        match read_message(answer) {
            Some(Incoming::Answer(_, outcome)) => Ok(outcome),
            _ => Err(CliError::AgentFailed("the agent did not answer its first request".to_owned())),
        }
    }

    /// Reads the instance's events in the background, from the first one on.
    pub(super) async fn listen(&self) -> Result<Received, CliError> {
        self.transport.listen().await
    }

    /// Sends a request; its answer is received under this id.
    pub(super) async fn request(&mut self, method: &str, params: &Value) -> Result<u64, CliError> {
        let id = self.sent + 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    pub(super) async fn notify(&mut self, method: &str, params: &Value) -> Result<(), CliError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Answers a request of the agent. It is no failure when another client was faster.
    pub(super) async fn answer(
        &mut self,
        id: &Value,
        outcome: Result<Value, RpcError>,
    ) -> Result<(), CliError> {
        let message = match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": error.code, "message": error.message}})
            }
        };
        match self.send(&message).await {
            Err(CliError::Refused(refusal)) if refusal.code() == "already_answered" => Ok(()),
            sent => sent,
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), CliError> {
        self.sent += 1;
        self.transport.send(Numbered { number: self.sent, message }).await
    }

    /// True while a request of this client waits for the agent.
    pub(super) async fn is_answer_due(&self) -> Result<bool, CliError> {
        self.transport.is_answer_due().await
    }
}

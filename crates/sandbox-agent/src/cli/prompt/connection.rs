//! JSON-RPC with one agent over either transport: ids, requests, notifications and answers.
//!
//! All answers except the first are received from the instance's events, so all messages from the agent have
//! one order.

use serde_json::{Value, json};

use super::incoming::{Incoming, RpcError, read_message};
use super::transport::{IncomingReceiver, NumberedMessage, Transport};
use crate::cli::error::CliError;

/// The connection to an agent.
#[derive(Debug)]
pub(super) struct Connection {
    transport: Transport,
    /// How many messages were sent. The number of a request is also its id.
    sent: u64,
}

impl Connection {
    pub(super) const fn new(transport: Transport) -> Self {
        Self { transport, sent: 0 }
    }

    pub(super) fn server_id(&self) -> &str {
        self.transport.server_id()
    }

    /// Starts the agent with its first request and waits for the answer, because an agent that cannot be started has no
    /// events that contain the reason. Only this request names the agent; a later one could start a second process.
    pub(super) async fn start(
        &mut self,
        agent: &str,
        params: &Value,
    ) -> Result<Result<Value, RpcError>, CliError> {
        self.sent += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.sent, "method": "initialize", "params": params});
        let answer =
            self.transport.start(agent, NumberedMessage { number: self.sent, message: &message }).await?;
        match read_message(answer) {
            Some(Incoming::Answer(_, outcome)) => Ok(outcome),
            _ => Err(CliError::AgentFailed("the agent did not answer its first request".to_owned())),
        }
    }

    /// Reads the instance's events in the background, starting with the first.
    pub(super) async fn subscribe(&self) -> Result<IncomingReceiver, CliError> {
        self.transport.subscribe().await
    }

    /// Sends a request and returns its id.
    pub(super) async fn request(&mut self, method: &str, params: &Value) -> Result<u64, CliError> {
        let id = self.sent + 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    pub(super) async fn notify(&mut self, method: &str, params: &Value) -> Result<(), CliError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Answers an agent request. It is not an error if another client has already answered it.
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
            Err(CliError::Problem(problem)) if problem.code() == "already_answered" => Ok(()),
            sent => sent,
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), CliError> {
        self.sent += 1;
        self.transport.send(NumberedMessage { number: self.sent, message }).await
    }

    /// True while a request of this client is waiting for its answer.
    pub(super) async fn has_pending_request(&self) -> Result<bool, CliError> {
        self.transport.has_pending_request().await
    }
}

//! One instance on a server, made for one prompt: messages out by POST, everything in by one stream.
//!
//! Answers are taken from the stream as well (`Prefer: respond-async`), so what the agent says has one order. Every
//! POST has an idempotency key, so that it can be repeated when a connection breaks and is still done once.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::incoming::{Incoming, RpcError, read, read_message};
use crate::cli::client::{Feed, Request, Scope, Server};
use crate::cli::error::CliError;

/// How long to repeat a POST whose connection broke.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);
/// How often the first request is repeated when its connection breaks.
const START_REPEATS: u32 = 5;
/// Messages between the connection and the terminal.
const AHEAD: usize = 64;

/// The way to the agent.
#[derive(Debug)]
pub(super) struct Link {
    server: Server,
    server_id: String,
    salt: String,
    sent: u64,
}

impl Link {
    pub(super) fn new(server: &Server) -> Result<Self, CliError> {
        let salt = random_text()?;
        Ok(Self { server: server.clone(), server_id: format!("prompt-{salt}"), salt, sent: 0 })
    }

    pub(super) fn server_id(&self) -> &str {
        &self.server_id
    }

    fn path(&self) -> String {
        path(&self.server_id)
    }

    /// Starts the agent with its first request and waits for the answer: an agent that cannot be started leaves no
    /// stream to read the reason from. Only this names the agent; later that could start a second process.
    pub(super) async fn start(
        &mut self,
        agent: &str,
        params: &Value,
    ) -> Result<Result<Value, RpcError>, CliError> {
        self.sent += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.sent, "method": "initialize", "params": params});
        let mut attempts = 0;
        let answer = loop {
            let request = self.server.request(Method::POST, self.path()).query("agent", agent);
            match self.prepare(request, &message)?.json().await {
                // An install can take longer than a proxy waits; the repeat waits with the first.
                Err(CliError::Broken { .. }) if attempts < START_REPEATS => attempts += 1,
                answer => break answer?,
            }
        };
        match read_message(answer) {
            Some(Incoming::Answer(_, outcome)) => Ok(outcome),
            _ => Err(CliError::AgentFailed("the agent did not answer its first request".to_owned())),
        }
    }

    /// Reads the stream in the background, from the instance's first message on.
    pub(super) async fn listen(&self) -> Result<mpsc::Receiver<Result<Incoming, CliError>>, CliError> {
        let mut feed = Feed::open(&self.server, self.path(), Scope::Instance, None).await?;
        let (sender, receiver) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            loop {
                let incoming = match feed.next().await {
                    Ok(Some(event)) => read(&event).map(Ok),
                    Ok(None) => return,
                    Err(error) => Some(Err(error)),
                };
                let is_last = matches!(incoming, Some(Err(_)));
                if let Some(incoming) = incoming
                    && (sender.send(incoming).await.is_err() || is_last)
                {
                    return;
                }
            }
        });
        Ok(receiver)
    }

    /// Sends a request; its answer comes on the stream, under this id.
    pub(super) async fn request(&mut self, method: &str, params: &Value) -> Result<u64, CliError> {
        let id = self.sent + 1;
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    pub(super) async fn notify(&mut self, method: &str, params: &Value) -> Result<(), CliError> {
        self.post(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Answers the agent. That somebody else was faster is no failure.
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
        match self.post(&message).await {
            Err(CliError::Refused(refusal)) if refusal.code() == "already_answered" => Ok(()),
            posted => posted,
        }
    }

    async fn post(&mut self, message: &Value) -> Result<(), CliError> {
        self.sent += 1;
        let give_up = Instant::now() + PATIENCE;
        loop {
            let request = self.server.request(Method::POST, self.path()).header("prefer", "respond-async")?;
            match self.prepare(request, message)?.send().await.map(drop) {
                Err(CliError::Broken { .. } | CliError::Unreachable { .. }) if Instant::now() < give_up => {
                    tokio::time::sleep(PAUSE).await;
                }
                posted => return posted,
            }
        }
    }

    fn prepare(&self, request: Request, message: &Value) -> Result<Request, CliError> {
        Ok(request.header("idempotency-key", &format!("{}-{}", self.salt, self.sent))?.json_body(message))
    }

    /// Whether the server still waits for an answer of the agent.
    pub(super) async fn is_answer_due(&self) -> Result<bool, CliError> {
        let list = self.server.get("/v1/acp").await?;
        let servers = list["servers"].as_array().into_iter().flatten();
        let mut ours = servers.filter(|one| one["serverId"] == self.server_id.as_str());
        Ok(ours.any(|one| one["pendingRequests"].as_u64().unwrap_or_default() > 0))
    }
}

/// Ends an instance and its agent.
pub(super) async fn close(server: &Server, server_id: &str) -> Result<(), CliError> {
    server.request(Method::DELETE, path(server_id)).send().await.map(drop)
}

fn path(server_id: &str) -> String {
    format!("/v1/acp/{server_id}")
}

/// Text that nobody can guess.
pub(super) fn random_text() -> Result<String, CliError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

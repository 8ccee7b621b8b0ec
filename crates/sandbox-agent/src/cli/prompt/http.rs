//! One instance on a running server: messages are sent by POST, events are received from one stream.
//!
//! Answers are received from the stream as well (`Prefer: respond-async`). Every POST has an idempotency key, so that
//! it can be repeated when a connection breaks, and the message still reaches the agent only once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::incoming::read;
use super::transport::{BUFFERED_EVENTS, IncomingReceiver, NumberedMessage};
use crate::cli::client::{EventStream, Request, Scope, Server, encode};
use crate::cli::error::CliError;

/// How long to repeat a POST whose connection broke.
const RETRY_LIMIT: Duration = Duration::from_secs(20);
const RETRY_DELAY: Duration = Duration::from_millis(200);
/// How often the first request is repeated when its connection breaks.
const MAX_START_RETRIES: u32 = 5;

/// An instance on a server.
#[derive(Debug, Clone)]
pub(super) struct HttpTransport {
    server: Server,
    server_id: String,
    /// The prefix of the idempotency keys.
    salt: String,
}

impl HttpTransport {
    /// An instance with this random text in its id. Nothing is sent yet.
    pub(super) fn new(server: Server, salt: String) -> Self {
        Self { server, server_id: format!("prompt-{salt}"), salt }
    }

    pub(super) fn server_id(&self) -> &str {
        &self.server_id
    }

    fn path(&self) -> String {
        format!("/v1/acp/{}", self.server_id)
    }

    pub(super) async fn start(&self, agent: &str, request: NumberedMessage<'_>) -> Result<Value, CliError> {
        let mut attempts = 0;
        loop {
            let post = self.server.request(Method::POST, self.path()).query("agent", agent);
            match self.prepare(post, request)?.json().await {
                // An install can take longer than a proxy waits. A repeated request waits for the same install.
                Err(CliError::ConnectionLost { .. }) if attempts < MAX_START_RETRIES => attempts += 1,
                answer => return answer,
            }
        }
    }

    pub(super) async fn send(&self, message: NumberedMessage<'_>) -> Result<(), CliError> {
        let deadline = Instant::now() + RETRY_LIMIT;
        loop {
            let post = self.server.request(Method::POST, self.path()).header("prefer", "respond-async")?;
            match self.prepare(post, message)?.send().await.map(drop) {
                Err(CliError::ConnectionLost { .. } | CliError::Unreachable { .. })
                    if Instant::now() < deadline =>
                {
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                sent => return sent,
            }
        }
    }

    fn prepare(&self, request: Request, message: NumberedMessage<'_>) -> Result<Request, CliError> {
        let key = format!("{}-{}", self.salt, message.number);
        Ok(request.header("idempotency-key", &key)?.json_body(message.message))
    }

    pub(super) async fn subscribe(&self) -> Result<IncomingReceiver, CliError> {
        let mut events = EventStream::open(&self.server, self.path(), Scope::Instance, None).await?;
        let (sender, receiver) = mpsc::channel(BUFFERED_EVENTS);
        tokio::spawn(async move {
            loop {
                let incoming = match events.next().await {
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

    pub(super) async fn has_pending_request(&self) -> Result<bool, CliError> {
        let list = self.server.get("/v1/acp").await?;
        let servers = list["servers"].as_array().into_iter().flatten();
        let mut ours = servers.filter(|instance| instance["serverId"] == self.server_id.as_str());
        Ok(ours.any(|instance| instance["pendingRequests"].as_u64().unwrap_or_default() > 0))
    }

    pub(super) async fn directory(&self, wanted: &Path) -> Result<PathBuf, CliError> {
        let path = wanted.as_os_str().as_encoded_bytes();
        let found = self.server.request(Method::GET, "/v1/fs/stat").query("path", path).json().await?;
        Ok(PathBuf::from(found["path"].as_str().unwrap_or("/")))
    }

    pub(super) async fn agent_ids(&self) -> Vec<String> {
        let list = self.server.get("/v1/agents").await.unwrap_or_default();
        let ids = list["agents"].as_array().into_iter().flatten().filter_map(|agent| agent["id"].as_str());
        ids.map(str::to_owned).collect()
    }

    pub(super) async fn install_progress(&self, agent: &str) -> Value {
        let mut found = self.server.get(&format!("/v1/agents/{}", encode(agent))).await.unwrap_or_default();
        found["install"].take()
    }

    pub(super) async fn close(&self) {
        // The turn is over, so a server that can no longer be reached does not change its result.
        let _ = self.server.request(Method::DELETE, self.path()).send().await;
    }
}

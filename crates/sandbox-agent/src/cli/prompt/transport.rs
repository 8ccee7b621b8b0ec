//! How a prompt reaches its agent: over HTTP on a running server, or through an engine in this process.
//!
//! One type hides everything that differs between the two. Problem codes and exit codes are the same.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::sync::mpsc;

use super::http::HttpTransport;
use super::in_process::InProcessTransport;
use super::incoming::Incoming;
use crate::cli::error::CliError;

/// How many events are buffered for the terminal.
pub(super) const BUFFERED_EVENTS: usize = 64;

/// Receives the agent's messages and events, until its instance ends or reading fails.
pub(super) type IncomingReceiver = mpsc::Receiver<Result<Incoming, CliError>>;

/// A message with its sequence number in this prompt. A repeated message has the same number.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedMessage<'a> {
    pub(super) number: u64,
    pub(super) message: &'a Value,
}

/// The transport to one instance, which exists for one prompt. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum Transport {
    /// An instance on a server, which may have other files than this machine.
    Http(HttpTransport),
    /// An instance in this process, without a server or a socket.
    Local(InProcessTransport),
}

impl Transport {
    pub(super) fn server_id(&self) -> &str {
        match self {
            Self::Http(http) => http.server_id(),
            Self::Local(local) => local.server_id(),
        }
    }

    /// Starts the agent with its first request and waits for the answer, which is a complete JSON-RPC message.
    pub(super) async fn start(&self, agent: &str, request: NumberedMessage<'_>) -> Result<Value, CliError> {
        match self {
            Self::Http(http) => http.start(agent, request).await,
            Self::Local(local) => local.start(agent, request.message).await,
        }
    }

    /// Sends a message. Answers and failed requests are received as events.
    pub(super) async fn send(&self, message: NumberedMessage<'_>) -> Result<(), CliError> {
        match self {
            Self::Http(http) => http.send(message).await,
            Self::Local(local) => local.send(message.message).await,
        }
    }

    /// Reads the instance's events in the background, starting with the first.
    pub(super) async fn subscribe(&self) -> Result<IncomingReceiver, CliError> {
        match self {
            Self::Http(http) => http.subscribe().await,
            Self::Local(local) => local.subscribe().await,
        }
    }

    /// True while a request is waiting for its answer.
    pub(super) async fn has_pending_request(&self) -> Result<bool, CliError> {
        match self {
            Self::Http(http) => http.has_pending_request().await,
            Self::Local(local) => local.has_pending_request().await,
        }
    }

    /// The absolute path of the session's directory, on the agent's machine.
    pub(super) async fn directory(&self, wanted: &Path) -> Result<PathBuf, CliError> {
        match self {
            Self::Http(http) => http.directory(wanted).await,
            Self::Local(_) => wanted.canonicalize().map_err(|error| CliError::local(wanted, &error)),
        }
    }

    /// The ids of all agents; empty if they cannot be listed.
    pub(super) async fn agent_ids(&self) -> Vec<String> {
        match self {
            Self::Http(http) => http.agent_ids().await,
            Self::Local(local) => local.agent_ids().await,
        }
    }

    /// The progress of an agent's installation: `install` of `GET /v1/agents/{agent}`; null if it is unknown.
    pub(super) async fn install_progress(&self, agent: &str) -> Value {
        match self {
            Self::Http(http) => http.install_progress(agent).await,
            Self::Local(local) => local.install_progress(agent).await,
        }
    }

    /// Closes the instance and ends its agent, with all its processes.
    pub(super) async fn close(&self) {
        match self {
            Self::Http(http) => http.close().await,
            Self::Local(local) => local.close().await,
        }
    }
}

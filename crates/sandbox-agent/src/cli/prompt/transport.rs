//! How a prompt reaches its agent: over HTTP on a server that runs, or through an engine in this process.
//!
//! Everything that differs between the two is behind this one type. Texts, problem documents and exit codes do not
//! differ.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::sync::mpsc;

use super::http::OverHttp;
use super::in_process::InProcess;
use super::incoming::Incoming;
use crate::cli::error::CliError;

/// How many events are read ahead of the terminal.
pub(super) const READ_AHEAD: usize = 64;

/// What the agent sends, until its instance ends or cannot be read any more.
pub(super) type Received = mpsc::Receiver<Result<Incoming, CliError>>;

/// A message with its place among those of this prompt. A repeat has the same number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: u64,
    pub(super) message: &'a Value,
}

/// One instance, made for one prompt, and the way to it. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum Transport {
    /// On a server, whose files are not this machine's.
    Http(OverHttp),
    /// In this process, without a server or a socket.
    Local(InProcess),
}

impl Transport {
    pub(super) fn server_id(&self) -> &str {
        match self {
            Self::Http(http) => http.server_id(),
            Self::Local(local) => local.server_id(),
        }
    }

    /// Starts the agent with its first request and waits for the answer, which is a whole JSON-RPC message.
    pub(super) async fn start(&self, agent: &str, request: Numbered<'_>) -> Result<Value, CliError> {
        match self {
            Self::Http(http) => http.start(agent, request).await,
            Self::Local(local) => local.start(agent, request.message).await,
        }
    }

    /// Sends a message. Answers, and failures of requests, are received as events.
    pub(super) async fn send(&self, message: Numbered<'_>) -> Result<(), CliError> {
        match self {
            Self::Http(http) => http.send(message).await,
            Self::Local(local) => local.send(message.message).await,
        }
    }

    /// Reads the instance's events in the background, from the first one on.
    pub(super) async fn listen(&self) -> Result<Received, CliError> {
        match self {
            Self::Http(http) => http.listen().await,
            Self::Local(local) => local.listen().await,
        }
    }

    /// True while a request waits for the agent.
    pub(super) async fn is_answer_due(&self) -> Result<bool, CliError> {
        match self {
            Self::Http(http) => http.is_answer_due().await,
            Self::Local(local) => local.is_answer_due().await,
        }
    }

    /// The directory of the session, as the agent sees it.
    pub(super) async fn directory(&self, wanted: &Path) -> Result<PathBuf, CliError> {
        match self {
            Self::Http(http) => http.directory(wanted).await,
            Self::Local(_) => wanted.canonicalize().map_err(|error| CliError::local(wanted, &error)),
        }
    }

    /// The ids of all agents; none where they cannot be listed.
    pub(super) async fn agent_ids(&self) -> Vec<String> {
        match self {
            Self::Http(http) => http.agent_ids().await,
            Self::Local(local) => local.agent_ids().await,
        }
    }

    /// How far the installation of an agent is: `install` of `GET /v1/agents/{agent}`, null where that is not known.
    pub(super) async fn install_progress(&self, agent: &str) -> Value {
        match self {
            Self::Http(http) => http.install_progress(agent).await,
            Self::Local(local) => local.install_progress(agent).await,
        }
    }

    /// Ends the instance and its agent, with all its processes.
    pub(super) async fn end(&self) {
        match self {
            Self::Http(http) => http.end().await,
            Self::Local(local) => local.end().await,
        }
    }
}

//! A short ACP conversation with an agent over its stdio: `initialize` and `session/new`.
//!
//! Only verification and probing use it; clients' messages never pass through here. It is bounded in time and
//! memory. The agent runs under a supervisor and is always killed at the end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use process_supervisor::{LaunchError, LaunchSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::time::Instant;

use crate::launch::LaunchCommand;
use crate::tail::Tail;
use crate::tool::{Pipes, Tree, collect};

/// The longest line that is read. Agents send lines of more than a megabyte, but a line of this length is a
/// malfunction.
const MAX_LINE: u64 = 64 << 20;
/// ACP's JSON-RPC error code for "authentication required".
const AUTH_REQUIRED: i64 = -32000;

/// Why a request got no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The agent answered with an error.
    Refused { code: i64, message: String },
    /// The agent exited or closed its output.
    Gone { detail: String },
    /// No answer arrived before the deadline.
    TimedOut,
}

impl RequestError {
    pub(crate) fn requires_authentication(&self) -> bool {
        matches!(self, Self::Refused { code: AUTH_REQUIRED, .. })
    }
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { code, message } => {
                write!(formatter, "the agent answered with error {code}: {message}")
            }
            Self::Gone { detail } => formatter.write_str(detail),
            Self::TimedOut => formatter.write_str("the agent did not answer in time"),
        }
    }
}

/// A running agent and its pipes.
#[derive(Debug)]
pub(crate) struct Conversation {
    tree: Tree,
    stdin: pipe::Sender,
    stdout: BufReader<pipe::Receiver>,
    stderr: Arc<Mutex<Tail>>,
    stderr_reader: tokio::task::JoinHandle<Vec<u8>>,
    deadline: Instant,
    next_id: u64,
}

impl Conversation {
    /// Starts the agent with these environment variables and the command's own, and no others.
    pub(crate) async fn start(
        command: &LaunchCommand,
        variables: &BTreeMap<OsString, OsString>,
        directory: &Path,
        patience: Duration,
    ) -> Result<Self, LaunchError> {
        let mut environment = variables.clone();
        environment.extend(command.env.iter().map(|(name, value)| (name.into(), value.into())));
        let spec = LaunchSpec {
            program: command.program.clone().into(),
            arguments: command.args.iter().map(Into::into).collect(),
            environment: environment.into_iter().collect(),
            directory: Some(directory.to_owned()),
        };
        let (tree, Pipes { stdin, stdout, stderr }) = Tree::launch(&spec).await?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let stderr_reader = tokio::spawn(collect(stderr, tail.clone(), 0));
        let deadline = Instant::now() + patience;
        let stdout = BufReader::new(stdout);
        Ok(Self { tree, stdin, stdout, stderr: tail, stderr_reader, deadline, next_id: 1 })
    }

    /// Sends `initialize`, declaring no client capabilities: no files, no terminal.
    pub(crate) async fn initialize(&mut self) -> Result<Value, RequestError> {
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "sandbox-agent", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = self.request("initialize", params).await?;
        if answer.get("protocolVersion").is_none_or(Value::is_null) {
            return Err(RequestError::Gone {
                detail: "the answer to initialize has no protocolVersion".to_owned(),
            });
        }
        Ok(answer)
    }

    /// Sends a request and waits for its answer. Requests from the agent are answered with an error in the meantime.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value, RequestError> {
        let id = self.next_id;
        self.next_id += 1;
        let deadline = self.deadline;
        let exchange = async {
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
            loop {
                let message = self.receive().await?;
                if message.get("method").is_some() {
                    if let Some(request_id) = message.get("id") {
                        let error = json!({ "code": -32601, "message": "not available while probing" });
                        self.send(&json!({ "jsonrpc": "2.0", "id": request_id, "error": error })).await?;
                    }
                } else if message["id"] == json!(id) {
                    return answer(message);
                }
            }
        };
        tokio::time::timeout_at(deadline, exchange).await.unwrap_or(Err(RequestError::TimedOut))
    }

    /// Kills the agent and returns the last lines of its stderr.
    pub(crate) async fn finish(mut self) -> String {
        self.tree.kill().await;
        // Every process that could write has ended, so the reader ends too, unless a process could not be killed.
        if tokio::time::timeout(Duration::from_secs(1), &mut self.stderr_reader).await.is_err() {
            self.stderr_reader.abort();
        }
        self.stderr.lock().map(|mut tail| tail.text()).unwrap_or_default()
    }

    async fn send(&mut self, message: &Value) -> Result<(), RequestError> {
        let mut line = message.to_string();
        line.push('\n');
        let sent = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.stdin.flush().await
        };
        match sent.await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.gone().await),
        }
    }

    async fn receive(&mut self) -> Result<Value, RequestError> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut self.stdout).take(MAX_LINE).read_until(b'\n', &mut line).await;
            if !matches!(read, Ok(1..)) {
                return Err(self.gone().await);
            }
            // Other output on stdout is ignored: only JSON objects can be messages.
            if let Ok(message @ Value::Object(_)) = serde_json::from_slice(&line) {
                return Ok(message);
            }
        }
    }

    async fn gone(&mut self) -> RequestError {
        let exit = tokio::time::timeout(Duration::from_secs(2), self.tree.exit()).await;
        let detail = match exit {
            Ok(exit) => format!("the agent ended with {exit} before it answered"),
            Err(_) => "the agent closed its output before it answered".to_owned(),
        };
        RequestError::Gone { detail }
    }
}

fn answer(mut message: Value) -> Result<Value, RequestError> {
    if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
        let code = error["code"].as_i64().unwrap_or_default();
        let message = error["message"].as_str().unwrap_or("no message");
        // The message is often just "Internal error"; agents put the explanation into `data`.
        let details = error["data"]["details"].as_str().or_else(|| error["data"].as_str());
        let message = details.map_or_else(|| message.to_owned(), |details| format!("{message}: {details}"));
        let message = message.chars().take(400).collect();
        return Err(RequestError::Refused { code, message });
    }
    Ok(message["result"].take())
}

//! One instance in this process: the engine without a server, a socket or a token.
//!
//! An error of the engine becomes the problem document that a client of the HTTP API would receive, so that codes and
//! exit codes are the same on both transports. Its detail is the engine's own text, which does not mention HTTP.

use std::sync::Arc;

use acp_http_adapter::{start_failure_to_problem, to_problem};
use acp_instances::{
    Answer, Delivery, Error, Event, EventKind, ExitCause, ExitRecord, From, Instances, Message,
    MessageCursor, SendRequest, ServerId, Shutdown, Subscribe, Subscription, Update, events,
};
use agent_catalog::Catalog;
use bytes::BytesMut;
use event_log::Reservation;
use http_server::{Code, Problem};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::incoming::{Incoming, read_message};
use super::transport::{BUFFERED_EVENTS, IncomingReceiver};
use crate::cli::client::ReportedProblem;
use crate::cli::error::CliError;
use crate::engine::{Engine, WrapEngine, prepare_to_launch};
use crate::server::{SHUTDOWN_LIMIT, ServerError, hide_from_agents};
use crate::settings::{CatalogArguments, EngineSettings};

/// The default log filter, unless `SANDBOX_AGENT_LOG` is set: only errors, because the log goes to the user's terminal.
const LOG_FILTER: &str = "error";

/// How the user of a local command lists the agents.
const LIST_HINT: &str = "`sandbox-agent agents list` lists the available agents";

/// An instance in this process.
#[derive(Debug, Clone)]
pub(super) struct InProcessTransport {
    instances: Arc<dyn Instances>,
    catalog: Catalog,
    server_id: ServerId,
    max_message_bytes: usize,
}

impl InProcessTransport {
    /// Creates an engine, and an instance with this random text in its id. No agent is started yet.
    pub(super) fn new(arguments: &CatalogArguments, wrap: WrapEngine, salt: &str) -> Result<Self, CliError> {
        hide_from_agents();
        let EngineSettings { limits, catalog, confinement, log_format } = EngineSettings::resolve(arguments)?;
        let filter = std::env::var("SANDBOX_AGENT_LOG").ok().filter(|filter| !filter.is_empty());
        crate::logs::start(filter.as_deref().unwrap_or(LOG_FILTER), log_format);
        prepare_to_launch(confinement);
        let max_message_bytes = limits.max_message_bytes;
        let Engine { instances, catalog, .. } =
            Engine::new(limits, catalog, LIST_HINT, None, wrap).map_err(ServerError::from)?;
        let server_id = ServerId::parse(&format!("prompt-{salt}"))
            .map_err(|invalid| CliError::Usage(invalid.to_string()))?;
        Ok(Self { instances, catalog, server_id, max_message_bytes })
    }

    pub(super) fn server_id(&self) -> &str {
        self.server_id.as_str()
    }

    pub(super) async fn start(&self, agent: &str, request: &Value) -> Result<Value, CliError> {
        let agent = Some(agent).filter(|agent| !agent.is_empty()).map(Box::from);
        let request =
            SendRequest { agent, ..SendRequest::new(self.server_id.clone(), self.message(request)?) };
        let receipt = self.instances.send(request).await.map_err(|error| engine_error(&error))?;
        match receipt.outcome.await.map_err(|error| engine_error(&error))? {
            Answer::Response(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
            Answer::Accepted => Ok(Value::Null),
        }
    }

    pub(super) async fn send(&self, message: &Value) -> Result<(), CliError> {
        let message = self.message(message)?;
        let request =
            SendRequest { delivery: Delivery::Log, ..SendRequest::new(self.server_id.clone(), message) };
        self.instances.send(request).await.map(drop).map_err(|error| engine_error(&error))
    }

    /// A message with memory reserved for it, within the limits.
    fn message(&self, message: &Value) -> Result<Message, CliError> {
        let text = message.to_string();
        let limit = self.max_message_bytes;
        if text.len() > limit {
            let detail = format!(
                "the message has {} bytes, but only {limit} are allowed (max_message_bytes under [limits] in the config file)",
                text.len()
            );
            let problem = Problem::new(Code::PayloadTooLarge, detail).with("limit", limit);
            return Err(to_cli_error(document(&problem)));
        }
        // One more byte for the line feed.
        let size = text.len() + 1;
        let mut memory = Reservation::empty(self.instances.memory());
        self.instances.reserve(&mut memory, size).map_err(|error| engine_error(&error))?;
        let mut bytes = BytesMut::with_capacity(size);
        bytes.extend_from_slice(text.as_bytes());
        Message::parse(bytes, memory)
            .map_err(|_| engine_error(&Error::internal("the prompt is not a JSON-RPC message")))
    }

    pub(super) async fn subscribe(&self) -> Result<IncomingReceiver, CliError> {
        let subscribe = Subscribe { from: From::Messages(MessageCursor::Oldest), only_answers_to: None };
        let subscription = self.instances.subscribe(&self.server_id, subscribe).await;
        let subscription = subscription.map_err(|error| engine_error(&error))?;
        let (sender, receiver) = mpsc::channel(BUFFERED_EVENTS);
        if let Some(subscription) = subscription {
            tokio::spawn(forward(subscription, sender));
        }
        Ok(receiver)
    }

    pub(super) async fn has_pending_request(&self) -> Result<bool, CliError> {
        match self.instances.get(&self.server_id).await {
            Ok(summary) => Ok(summary.client_requests > 0),
            Err(Error::UnknownInstance { .. }) => Ok(false),
            Err(error) => Err(engine_error(&error)),
        }
    }

    pub(super) async fn agent_ids(&self) -> Vec<String> {
        self.catalog.agents().await.into_iter().map(|agent| agent.id).collect()
    }

    pub(super) async fn install_progress(&self, agent: &str) -> Value {
        let found = self.catalog.agent(agent).await.ok();
        found.and_then(|agent| serde_json::to_value(agent.install).ok()).unwrap_or_default()
    }

    pub(super) async fn close(&self) {
        let shutdown = self.instances.shutdown(Shutdown::End);
        match tokio::time::timeout(SHUTDOWN_LIMIT, shutdown).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the agent could not be shut down"),
            Err(_) => tracing::error!("the agent did not end in time; its supervisor will end it"),
        }
    }
}

/// Forwards events until the subscription ends or the receiver is dropped.
async fn forward(mut subscription: Box<dyn Subscription>, sender: mpsc::Sender<Result<Incoming, CliError>>) {
    while let Some(updates) = subscription.next().await {
        match updates {
            Ok(updates) => {
                for incoming in updates.iter().flat_map(read) {
                    if sender.send(Ok(incoming)).await.is_err() {
                        return;
                    }
                }
            }
            Err(error) => {
                let _ = sender.send(Err(engine_error(&error))).await;
                return;
            }
        }
    }
}

/// The parts of an update that matter to a prompt; often none.
fn read(update: &Update) -> Vec<Incoming> {
    match update {
        Update::Events { run, .. } => events(run).filter_map(read_event).collect(),
        Update::Retained { request, .. } => parse(request).and_then(read_message).into_iter().collect(),
        Update::Gap { .. } => vec![Incoming::Gap],
        Update::Instances(_) | Update::Change(_) => Vec::new(),
    }
}

fn read_event(event: Event<'_>) -> Option<Incoming> {
    match event.kind() {
        EventKind::Message(_) => read_message(parse(event.bytes())?),
        EventKind::Answered => Some(Incoming::Answered(parse(event.bytes())?["id"].take())),
        EventKind::Failed => {
            let failed = event.failure()?;
            Some(Incoming::Failed(failed.id.as_json().parse().ok()?, error_document(&failed.error)))
        }
        EventKind::Exit => Some(Incoming::Exited(exit_document(&event.exit()?))),
        EventKind::Sent(_)
        | EventKind::Unparsed
        | EventKind::JournalSuspended
        | EventKind::JournalResumed => None,
    }
}

/// How the process ended, with the members of an `exit` event or of the problem of an exited agent.
fn exit_document(exit: &ExitRecord) -> Value {
    match &exit.cause {
        ExitCause::Exited(_) | ExitCause::ServerDied => error_document(&exit.to_error()),
        ExitCause::NotStarted(failure) => json!({"problem": start_failure_to_problem(failure)}),
        ExitCause::Closed | ExitCause::ShutDown => json!({"stderrTail": exit.stderr_tail}),
    }
}

fn parse(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

fn document(problem: &Problem) -> Value {
    // Strings, numbers and maps with string keys always serialise.
    serde_json::to_value(problem).unwrap_or_default()
}

/// The problem document of an error, with the engine's own text. The text of the HTTP API names requests to send.
fn error_document(error: &Error) -> Value {
    let mut document = document(&to_problem(error));
    document["detail"] = json!(error.to_string());
    document
}

fn engine_error(error: &Error) -> CliError {
    to_cli_error(error_document(error))
}

fn to_cli_error(document: Value) -> CliError {
    CliError::Problem(Box::new(ReportedProblem::from_document(document)))
}

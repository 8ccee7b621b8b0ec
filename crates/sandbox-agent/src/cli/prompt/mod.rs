//! `sandbox-agent prompt`: one turn with an agent, streamed to the terminal.
//!
//! This command is a client like any other, of a running server or of an engine in this process. Unlike the engine, it
//! knows about sessions, but it stores nothing: the agent stores its sessions, if it supports that.

mod choice;
mod connection;
mod dialogue;
mod diff;
mod field;
mod form;
mod http;
mod in_process;
mod incoming;
mod lines;
mod markdown;
mod message;
mod permission;
mod question;
mod questions;
mod screen;
mod session;
mod terminal;
mod tools;
mod transport;
mod view;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_catalog::Catalog;
use clap::Args;
use serde_json::{Value, json};

use self::connection::Connection;
use self::dialogue::{Dialogue, OnInterrupt, Signals, Updates};
use self::http::HttpTransport;
use self::in_process::InProcessTransport;
use self::lines::JsonLines;
use self::message::Message;
use self::permission::Allow;
use self::questions::Questions;
use self::screen::{Screen, Verbosity};
use self::session::{Forms, InitializeResponse, Setting};
use self::transport::Transport;
use self::view::{OpenedSession, TurnView};
use super::client::{ReportedProblem, Server, TokenArguments};
use super::error::CliError;
use super::nearest::nearest;
use super::output::Format;
use super::progress::StatusLine;
use crate::engine::WrapEngine;
use crate::settings::CatalogArguments;

/// How long closing the instance may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);
/// How long closing the instance may take after the user interrupted the command.
const INTERRUPTED_CLOSE_LIMIT: Duration = Duration::from_secs(1);
/// How often the progress of an installation is polled.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// The agent, the prompt and the options of a turn.
#[derive(Debug, Args)]
pub(super) struct PromptArguments {
    /// The agent's id; see `sandbox-agent agents list`
    #[arg(id = "prompted_agent", value_name = "AGENT")]
    agent: String,
    /// The prompt; `-` reads it from standard input
    text: String,
    /// A file to attach to the prompt; repeatable
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The agent's working directory [default: the current directory; with --url, the server's workspace]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// How to answer permission requests [default: ask on a terminal, else reject]
    #[arg(long, value_name = "DECISION")]
    allow: Option<Allow>,
    /// Continue an earlier session, if the agent supports it
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// The model to use, by id or name
    #[arg(long)]
    model: Option<String>,
    /// The mode to use, by id or name
    #[arg(long)]
    mode: Option<String>,
    /// Authenticate first, with one of the agent's methods
    #[arg(long, value_name = "METHOD")]
    auth: Option<String>,
    /// Print one JSON object per line: session, update, answered, stop, error
    #[arg(long)]
    json: bool,
    /// Print only the agent's answer
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// URL of a running server [default: none; the agent runs in this process]
    #[arg(long, env = "SANDBOX_AGENT_URL", value_name = "URL", help_heading = "Server")]
    url: Option<String>,
    #[command(flatten)]
    token: TokenArguments,
    #[command(flatten)]
    catalog: CatalogArguments,
}

impl PromptArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }

    /// The server of `--url`, or an engine in this process.
    fn transport(&self, wrap: WrapEngine) -> Result<Transport, CliError> {
        let salt = random_text()?;
        match self.url.as_deref().filter(|url| !url.is_empty()) {
            Some(url) => {
                let server = Server::at(url, self.token.token()?.as_deref())?;
                Ok(Transport::Http(HttpTransport::new(server, salt)))
            }
            None => Ok(Transport::Local(InProcessTransport::new(&self.catalog, wrap, &salt)?)),
        }
    }
}

/// Random text that other users cannot guess.
fn random_text() -> Result<String, CliError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Runs one turn. No process is left running afterwards.
pub(super) fn run(arguments: &PromptArguments, wrap: WrapEngine) -> Result<(), CliError> {
    let message = Message::read(&arguments.text, &arguments.files)?;
    let questions = Questions::new(arguments.allow)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(run_turn(arguments, &message, questions, wrap));
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn run_turn(
    arguments: &PromptArguments,
    message: &Message,
    questions: Questions,
    wrap: WrapEngine,
) -> Result<(), CliError> {
    let mut view: Box<dyn TurnView> = if arguments.json {
        Box::new(JsonLines)
    } else {
        Box::new(Screen::new(if arguments.quiet { Verbosity::Quiet } else { Verbosity::Normal }))
    };
    let signals = Signals::register()?;
    let transport = arguments.transport(wrap)?;
    let turn = Turn { arguments, message, transport: &transport };
    let result = turn.run(view.as_mut(), questions, signals).await;
    let result = match result {
        Ok(stopped) => stopped.into_result(),
        Err(error) => {
            if !matches!(&error, CliError::Io(_)) {
                view.failed(&error)?;
            }
            Err(error)
        }
    };
    close(&transport, &result).await;
    result
}

/// Closes the instance. Another signal exits at once; the supervisor then ends the agent.
async fn close(transport: &Transport, result: &Result<(), CliError>) {
    if matches!(result, Err(CliError::Unreachable { .. })) {
        return;
    }
    let is_interrupted = matches!(result, Err(CliError::Interrupted));
    let limit = if is_interrupted { INTERRUPTED_CLOSE_LIMIT } else { CLOSE_LIMIT };
    let Ok(mut signals) = Signals::register() else { return transport.close().await };
    tokio::select! {
        _ = tokio::time::timeout(limit, transport.close()) => {}
        () = signals.any() => {}
    }
}

/// How a turn ended.
struct Stopped {
    reason: String,
    /// True when the user of this command cancelled the turn.
    is_cancelled: bool,
    /// True when a permission was rejected without asking, because there was no terminal.
    is_rejected: bool,
}

impl Stopped {
    fn into_result(self) -> Result<(), CliError> {
        match self.reason.as_str() {
            "cancelled" if self.is_cancelled => Err(CliError::Interrupted),
            // However the turn ended, the agent could not do what it was asked to do.
            _ if self.is_rejected => Err(CliError::PermissionRejected),
            "end_turn" => Ok(()),
            _ => Err(CliError::TurnIncomplete(self.reason)),
        }
    }
}

/// One turn and everything that it needs.
struct Turn<'a> {
    arguments: &'a PromptArguments,
    message: &'a Message,
    transport: &'a Transport,
}

impl Turn<'_> {
    async fn run(
        &self,
        view: &mut dyn TurnView,
        questions: Questions,
        mut signals: Signals,
    ) -> Result<Stopped, CliError> {
        let arguments = self.arguments;
        let agent = arguments.agent.as_str();
        let wanted = arguments.cwd.as_deref().unwrap_or(Path::new("."));
        let cwd = self.transport.directory(wanted).await?;
        let mut connection = Connection::new(self.transport.clone());
        let forms = if questions.can_ask() { Forms::Shown } else { Forms::Unsupported };
        let response = tokio::select! {
            biased;
            () = signals.any() => return Err(CliError::Interrupted),
            response = self.initialize(&mut connection, forms) => response?,
        };
        let mut dialogue = Dialogue::open(connection, view, questions, signals).await?;
        if let Some(method) = &arguments.auth {
            dialogue.call_or_fail("authenticate", &json!({"methodId": method}), OnInterrupt::Exit).await?;
        }
        let session = session::open(&mut dialogue, &response, &cwd, arguments.session.as_deref()).await?;
        for (setting, wanted) in [(Setting::Mode, &arguments.mode), (Setting::Model, &arguments.model)] {
            if let Some(wanted) = wanted {
                session::set(&mut dialogue, &session, setting, wanted).await?;
            }
        }
        let server_id = dialogue.connection.server_id().to_owned();
        // The mock agent reports that it can load sessions, but without MOCK_AGENT_STATE it stores them only in memory.
        let forgets = agent == Catalog::MOCK && std::env::var_os("MOCK_AGENT_STATE").is_none();
        let can_continue = response.can_continue() && !forgets;
        let is_default =
            |url: &&str| std::env::var("SANDBOX_AGENT_URL").is_ok_and(|variable| variable == *url);
        let url = arguments.url.as_deref().filter(|url| !url.is_empty() && !is_default(url));
        dialogue.view.opened(&OpenedSession {
            session: &session.id,
            agent,
            server_id: &server_id,
            url,
            can_continue,
        })?;
        dialogue.updates = Updates::Live;
        let params = json!({"sessionId": session.id, "prompt": self.message.blocks(&response)?});
        let on_interrupt = OnInterrupt::Cancel(&session.id);
        let response = dialogue.call_or_fail("session/prompt", &params, on_interrupt).await?;
        dialogue.view.stopped(&response)?;
        let reason = response["stopReason"].as_str().unwrap_or("the agent gave no reason").to_owned();
        let is_rejected = dialogue.has_rejected();
        Ok(Stopped { reason, is_cancelled: dialogue.is_cancelled, is_rejected })
    }

    /// Starts the agent, installing it first if necessary, and sends `initialize`.
    async fn initialize(
        &self,
        connection: &mut Connection,
        forms: Forms,
    ) -> Result<InitializeResponse, CliError> {
        let (transport, agent) = (self.transport, self.arguments.agent.as_str());
        let params = session::initialize_params(forms);
        let started = if self.arguments.json || self.arguments.quiet {
            connection.start(agent, &params).await
        } else {
            let mut line = StatusLine::new();
            let started = tokio::select! {
                started = connection.start(agent, &params) => started,
                never = show_progress(&mut line, transport, agent) => match never {},
            };
            line.clear();
            started
        };
        match started {
            Ok(outcome) => InitializeResponse::new(outcome),
            Err(CliError::Problem(problem)) if problem.code() == "unknown_agent" => {
                Err(CliError::Problem(Box::new(with_suggestion(transport, agent, *problem).await)))
            }
            Err(error) => Err(error),
        }
    }
}

/// Suggests the agent with the most similar name.
async fn with_suggestion(transport: &Transport, agent: &str, problem: ReportedProblem) -> ReportedProblem {
    let ids = transport.agent_ids().await;
    match nearest(agent, ids.iter().map(String::as_str)) {
        Some(near) => problem.with_hint(format!("did you mean `{near}`?")),
        None => problem,
    }
}

/// Shows the progress of an agent's installation until the future is dropped.
async fn show_progress(line: &mut StatusLine, transport: &Transport, agent: &str) -> Infallible {
    loop {
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        if let Some(text) = install_step(agent, &transport.install_progress(agent).await) {
            line.show(&text);
        }
    }
}

fn install_step(agent: &str, install: &Value) -> Option<String> {
    let step = install["step"].as_str().filter(|_| install["state"] == "installing")?.replace('_', " ");
    let seconds = install["elapsedMs"].as_u64().unwrap_or_default() / 1000;
    Some(format!("{agent}: {step} {} ({seconds} s)", install["detail"].as_str().unwrap_or_default()))
}

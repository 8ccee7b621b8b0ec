//! `sandbox-agent prompt`: one turn with an agent, streamed to the terminal.
//!
//! A client like any other, of a server that runs or of an engine in this process. It knows sessions, which the engine
//! does not, and stores nothing: the agent does, if it can.

mod dialogue;
mod http;
mod in_process;
mod incoming;
mod lines;
mod link;
mod markdown;
mod message;
mod permission;
mod questions;
mod screen;
mod session;
mod show;
mod terminal;
mod tools;
mod transport;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_catalog::Catalog;
use clap::Args;
use serde_json::{Value, json};

use self::dialogue::{Dialogue, Listening, OnInterrupt, Signals};
use self::http::OverHttp;
use self::in_process::InProcess;
use self::lines::JsonLines;
use self::link::Link;
use self::message::Message;
use self::permission::Allow;
use self::questions::Questions;
use self::screen::{Screen, Verbosity};
use self::session::{Choice, Met};
use self::show::{Opened, Show};
use self::transport::Transport;
use super::client::{Refusal, Server, TokenArguments};
use super::error::CliError;
use super::nearest::nearest;
use super::output::Format;
use super::progress::StatusLine;
use crate::engine::Wrap;
use crate::settings::CatalogArguments;

/// How long ending the agent may take.
const ENDING: Duration = Duration::from_secs(10);
/// The same for a user who has lost patience.
const LEAVING: Duration = Duration::from_secs(1);
/// How often to look how far an installation is.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What to say to whom.
#[derive(Debug, Args)]
pub(super) struct PromptArguments {
    /// The agent's id; see `sandbox-agent agents list`
    #[arg(id = "prompted_agent", value_name = "AGENT")]
    agent: String,
    /// What to say; `-` reads it from standard input
    text: String,
    /// A file that goes with it; repeatable
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the agent works [default: this directory; with --url, that server's workspace]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// What happens when the agent asks for permission [default: ask on a terminal, else reject]
    #[arg(long, value_name = "DECISION")]
    allow: Option<Allow>,
    /// Go on with an earlier session, where the agent can
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// The model, by id or name
    #[arg(long)]
    model: Option<String>,
    /// The mode, by id or name
    #[arg(long)]
    mode: Option<String>,
    /// Log in first, with one of the agent's own methods
    #[arg(long, value_name = "METHOD")]
    auth: Option<String>,
    /// Print one JSON object a line instead: session, update, answered, stop, error
    #[arg(long)]
    json: bool,
    /// Print what the agent says and nothing else
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// A server that runs already; without it, the agent runs in this process, and no server is needed
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

    /// The server that was named, or an engine in this process.
    fn transport(&self, wrap: Wrap) -> Result<Transport, CliError> {
        let salt = random_text()?;
        match self.url.as_deref().filter(|url| !url.is_empty()) {
            Some(url) => {
                let server = Server::at(url, self.token.token()?.as_deref())?;
                Ok(Transport::Http(OverHttp::new(server, salt)))
            }
            None => Ok(Transport::Local(InProcess::new(&self.catalog, wrap, &salt)?)),
        }
    }
}

/// Text that cannot be guessed.
fn random_text() -> Result<String, CliError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Has one turn, and leaves nothing running.
pub(super) fn run(arguments: &PromptArguments, wrap: Wrap) -> Result<(), CliError> {
    let message = Message::read(&arguments.text, &arguments.files)?;
    let questions = Questions::new(arguments.allow)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(have_turn(arguments, &message, questions, wrap));
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn have_turn(
    arguments: &PromptArguments,
    message: &Message,
    questions: Questions,
    wrap: Wrap,
) -> Result<(), CliError> {
    let mut show: Box<dyn Show> = if arguments.json {
        Box::new(JsonLines)
    } else {
        Box::new(Screen::new(if arguments.quiet { Verbosity::Quiet } else { Verbosity::Normal }))
    };
    let signals = Signals::register()?;
    let transport = arguments.transport(wrap)?;
    let turn = Turn { arguments, message, transport: &transport };
    let result = turn.run(show.as_mut(), questions, signals).await;
    let result = match result {
        Ok(reason) => reason.verdict(),
        Err(error) => {
            if !matches!(&error, CliError::Io(_)) {
                show.failed(&error)?;
            }
            Err(error)
        }
    };
    tidy_up(&transport, &result).await;
    result
}

/// Ends the agent. Another signal leaves at once: supervisors finish the work.
async fn tidy_up(transport: &Transport, result: &Result<(), CliError>) {
    if matches!(result, Err(CliError::Unreachable { .. })) {
        return;
    }
    let patience = if matches!(result, Err(CliError::Interrupted)) { LEAVING } else { ENDING };
    let Ok(mut signals) = Signals::register() else { return transport.end().await };
    tokio::select! {
        _ = tokio::time::timeout(patience, transport.end()) => {}
        () = signals.any() => {}
    }
}

/// How a turn stopped.
struct Stopped {
    reason: String,
    /// Whether it was this user who cancelled it.
    is_cancelled: bool,
}

impl Stopped {
    fn verdict(self) -> Result<(), CliError> {
        match self.reason.as_str() {
            "end_turn" => Ok(()),
            "cancelled" if self.is_cancelled => Err(CliError::Interrupted),
            _ => Err(CliError::TurnIncomplete(self.reason)),
        }
    }
}

/// One turn, all that it needs.
struct Turn<'a> {
    arguments: &'a PromptArguments,
    message: &'a Message,
    transport: &'a Transport,
}

impl Turn<'_> {
    async fn run(
        &self,
        show: &mut dyn Show,
        questions: Questions,
        mut signals: Signals,
    ) -> Result<Stopped, CliError> {
        let arguments = self.arguments;
        let agent = arguments.agent.as_str();
        let wanted = arguments.cwd.as_deref().unwrap_or(Path::new("."));
        let cwd = self.transport.directory(wanted).await?;
        let mut link = Link::new(self.transport.clone());
        let met = tokio::select! {
            biased;
            () = signals.any() => return Err(CliError::Interrupted),
            met = self.meet(&mut link) => met?,
        };
        let mut dialogue = Dialogue::open(link, show, questions, signals).await?;
        if let Some(method) = &arguments.auth {
            dialogue.demand("authenticate", &json!({"methodId": method}), OnInterrupt::Leave).await?;
        }
        let session = session::open(&mut dialogue, &met, &cwd, arguments.session.as_deref()).await?;
        for (choice, wanted) in [(Choice::Mode, &arguments.mode), (Choice::Model, &arguments.model)] {
            if let Some(wanted) = wanted {
                session::choose(&mut dialogue, &session, choice, wanted).await?;
            }
        }
        let server_id = dialogue.link.server_id().to_owned();
        // The mock agent says that it can, and forgets its sessions when it ends unless it is told where to keep them.
        let forgets = agent == Catalog::MOCK && std::env::var_os("MOCK_AGENT_STATE").is_none();
        let can_go_on = met.can_go_on() && !forgets;
        let named = |url: &&str| std::env::var("SANDBOX_AGENT_URL").is_ok_and(|variable| variable == *url);
        let url = arguments.url.as_deref().filter(|url| !url.is_empty() && !named(url));
        dialogue.show.opened(&Opened {
            session: &session.id,
            agent,
            server_id: &server_id,
            url,
            can_go_on,
        })?;
        dialogue.listening = Listening::Live;
        let params = json!({"sessionId": session.id, "prompt": self.message.blocks(&met)?});
        let response = dialogue.demand("session/prompt", &params, OnInterrupt::Cancel(&session.id)).await?;
        dialogue.show.stopped(&response)?;
        let reason = response["stopReason"].as_str().unwrap_or("the agent gave no reason").to_owned();
        Ok(Stopped { reason, is_cancelled: dialogue.is_cancelled })
    }

    /// Starts the agent, installing it first if need be, and initialises the connection.
    async fn meet(&self, link: &mut Link) -> Result<Met, CliError> {
        let (transport, agent) = (self.transport, self.arguments.agent.as_str());
        let hello = session::hello();
        let started = if self.arguments.json || self.arguments.quiet {
            link.start(agent, &hello).await
        } else {
            let mut line = StatusLine::new();
            let started = tokio::select! {
                started = link.start(agent, &hello) => started,
                never = show_progress(&mut line, transport, agent) => match never {},
            };
            line.clear();
            started
        };
        match started {
            Ok(outcome) => Met::new(outcome),
            Err(CliError::Refused(refusal)) if refusal.code() == "unknown_agent" => {
                Err(CliError::Refused(Box::new(with_guess(transport, agent, *refusal).await)))
            }
            Err(error) => Err(error),
        }
    }
}

/// Adds the agent that was probably meant.
async fn with_guess(transport: &Transport, agent: &str, refusal: Refusal) -> Refusal {
    let ids = transport.agent_ids().await;
    match nearest(agent, ids.iter().map(String::as_str)) {
        Some(near) => refusal.with_hint(format!("did you mean `{near}`?")),
        None => refusal.with_hint("`sandbox-agent agents list` shows those there are".to_owned()),
    }
}

/// Shows how far the installation of an agent is, until the future is dropped.
async fn show_progress(line: &mut StatusLine, transport: &Transport, agent: &str) -> Infallible {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
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

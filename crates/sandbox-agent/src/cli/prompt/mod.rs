//! `sandbox-agent prompt`: one turn with an agent, streamed to the terminal.
//!
//! A client of the transport like any other, on a server that runs or on one that lives for this call. It knows
//! sessions, which the server does not, and keeps nothing: the agent does, if it can.

mod dialogue;
mod host;
mod incoming;
mod lines;
mod markdown;
mod message;
mod permission;
mod questions;
mod screen;
mod session;
mod show;
mod terminal;
mod tools;
mod wire;

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use agent_catalog::Catalog;
use clap::Args;
use serde_json::{Value, json};

use self::dialogue::{Dialogue, Listening, OnInterrupt, Signals};
use self::host::Host;
use self::lines::JsonLines;
use self::message::Message;
use self::permission::Allow;
use self::questions::Questions;
use self::screen::{Screen, Verbosity};
use self::session::{Choice, Met};
use self::show::{Opened, Show};
use self::wire::Link;
use super::client::{Refusal, Server, TokenArguments, encode};
use super::error::CliError;
use super::nearest::nearest;
use super::output::Format;
use super::progress::StatusLine;
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
    /// A server that runs already; without it, one is started for this call
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
}

/// Has one turn, and leaves nothing running.
pub(super) fn run(arguments: &PromptArguments) -> Result<(), CliError> {
    let message = Message::read(&arguments.text, &arguments.files)?;
    let questions = Questions::new(arguments.allow)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(have_turn(arguments, &message, questions));
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn have_turn(
    arguments: &PromptArguments,
    message: &Message,
    questions: Questions,
) -> Result<(), CliError> {
    let mut show: Box<dyn Show> = if arguments.json {
        Box::new(JsonLines)
    } else {
        Box::new(Screen::new(if arguments.quiet { Verbosity::Quiet } else { Verbosity::Normal }))
    };
    let signals = Signals::register()?;
    let host = match arguments.url.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => Host::There(Server::at(url, arguments.token.token()?.as_deref())?),
        None => Host::start(&arguments.catalog).await?,
    };
    let link = Link::new(host.server())?;
    let server_id = link.server_id().to_owned();
    let turn = Turn { arguments, message, host: &host };
    let result = turn.run(link, show.as_mut(), questions, signals).await;
    let result = match result {
        Ok(reason) => reason.verdict(),
        Err(error) => {
            if !matches!(&error, CliError::Io(_)) {
                show.failed(&error)?;
            }
            Err(error)
        }
    };
    tidy_up(host, &server_id, &result).await;
    result
}

/// Ends the agent, and the server if it is ours. Another signal leaves at once: supervisors finish the work.
async fn tidy_up(host: Host, server_id: &str, result: &Result<(), CliError>) {
    if matches!(result, Err(CliError::Unreachable { .. })) {
        return host.stop().await;
    }
    let patience = if matches!(result, Err(CliError::Interrupted)) { LEAVING } else { ENDING };
    let ending = async {
        let _ = wire::close(host.server(), server_id).await;
        host.stop().await;
    };
    let Ok(mut signals) = Signals::register() else { return ending.await };
    tokio::select! {
        _ = tokio::time::timeout(patience, ending) => {}
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
    host: &'a Host,
}

impl Turn<'_> {
    async fn run(
        &self,
        mut link: Link,
        show: &mut dyn Show,
        questions: Questions,
        mut signals: Signals,
    ) -> Result<Stopped, CliError> {
        let arguments = self.arguments;
        let agent = arguments.agent.as_str();
        let cwd = self.cwd().await?;
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

    /// The directory of the session: here, or where the server's files are.
    async fn cwd(&self) -> Result<PathBuf, CliError> {
        let wanted = self.arguments.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        match self.host {
            Host::Own(..) => wanted.canonicalize().map_err(|error| CliError::local(&wanted, &error)),
            Host::There(server) => {
                let path = wanted.as_os_str().as_encoded_bytes();
                let found =
                    server.request(reqwest::Method::GET, "/v1/fs/stat").query("path", path).json().await?;
                Ok(PathBuf::from(found["path"].as_str().unwrap_or("/")))
            }
        }
    }

    /// Starts the agent, installing it first if need be, and says hello.
    async fn meet(&self, link: &mut Link) -> Result<Met, CliError> {
        let (server, agent) = (self.host.server(), self.arguments.agent.as_str());
        let hello = session::hello();
        let started = if self.arguments.json || self.arguments.quiet {
            link.start(agent, &hello).await
        } else {
            let mut line = StatusLine::new();
            let started = tokio::select! {
                started = link.start(agent, &hello) => started,
                never = tell_progress(&mut line, server, agent) => match never {},
            };
            line.clear();
            started
        };
        match started {
            Ok(outcome) => Met::new(outcome),
            Err(CliError::Refused(refusal)) if refusal.code() == "unknown_agent" => {
                Err(CliError::Refused(Box::new(with_guess(server, agent, *refusal).await)))
            }
            Err(error) => Err(error),
        }
    }
}

/// Adds the agent that was probably meant.
async fn with_guess(server: &Server, agent: &str, refusal: Refusal) -> Refusal {
    let list = server.get("/v1/agents").await.unwrap_or_default();
    let ids = list["agents"].as_array().into_iter().flatten().filter_map(|agent| agent["id"].as_str());
    match nearest(agent, ids) {
        Some(near) => refusal.with_hint(format!("did you mean `{near}`?")),
        None => refusal.with_hint("`sandbox-agent agents list` shows those there are".to_owned()),
    }
}

/// Tells how far the installation of an agent is, until nobody wants to know any more.
async fn tell_progress(line: &mut StatusLine, server: &Server, agent: &str) -> Infallible {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let found = server.get(&format!("/v1/agents/{}", encode(agent))).await.unwrap_or_default();
        if let Some(text) = install_step(agent, &found["install"]) {
            line.show(&text);
        }
    }
}

fn install_step(agent: &str, install: &Value) -> Option<String> {
    let step = install["step"].as_str().filter(|_| install["state"] == "installing")?.replace('_', " ");
    let seconds = install["elapsedMs"].as_u64().unwrap_or_default() / 1000;
    Some(format!("{agent}: {step} {} ({seconds} s)", install["detail"].as_str().unwrap_or_default()))
}

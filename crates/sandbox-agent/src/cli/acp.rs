//! `sandbox-agent acp`: the instances of a server, and raw messages to and from them.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Serialize;
use serde_json::value::RawValue;

use super::client::{Event, Feed, Scope, Server, ServerAddress, encode};
use super::error::CliError;
use super::input;
use super::output::{Format, print_bytes, print_json, print_line};
use super::style::one_line;

#[derive(Debug, Args)]
pub(super) struct AcpArguments {
    #[command(subcommand)]
    command: AcpCommand,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    server: ServerAddress,
}

#[derive(Debug, Subcommand)]
enum AcpCommand {
    /// All instances
    List,
    /// Send one JSON-RPC message; prints the answer, if there is one
    Post {
        /// The instance; the first message with --agent makes it
        server_id: String,
        /// The message, or @FILE, or - for standard input
        message: String,
        /// The agent to start, where there is no instance yet
        #[arg(long, id = "started_agent", value_name = "AGENT")]
        agent: Option<String>,
        /// Do not wait: the answer comes on the stream
        #[arg(long = "async")]
        respond_async: bool,
        /// Wait at most so many seconds
        #[arg(long, value_name = "SECONDS")]
        wait: Option<u32>,
    },
    /// Print what agents say, as it comes, also over cut connections
    Stream(StreamArguments),
    /// End instances and their agents
    Close {
        /// The instances
        #[arg(required = true)]
        server_ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
struct StreamArguments {
    /// The instances; all of them if none is named. One alone ends with its agent
    server_ids: Vec<String>,
    /// Both directions, for inspectors and recorders
    #[arg(long)]
    journal: bool,
    /// Start behind the event with this id
    #[arg(long, value_name = "ID", conflicts_with = "new")]
    from: Option<String>,
    /// Start at the newest event instead of the oldest one held
    #[arg(long)]
    new: bool,
}

impl AcpArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }
}

pub(super) async fn run(arguments: AcpArguments) -> Result<(), CliError> {
    let (server, format) = (arguments.server.server()?, arguments.format());
    match arguments.command {
        AcpCommand::List => list(&server, format).await,
        AcpCommand::Post { server_id, message, agent, respond_async, wait } => {
            let mut request = server.request(Method::POST, path(&server_id));
            if let Some(agent) = agent {
                request = request.query("agent", agent);
            }
            let asynchronous = respond_async.then(|| "respond-async".to_owned());
            let preferences: Vec<String> =
                asynchronous.into_iter().chain(wait.map(|seconds| format!("wait={seconds}"))).collect();
            if !preferences.is_empty() {
                request = request.header("prefer", &preferences.join(", "))?;
            }
            let answer = request.body("application/json", input::read(&message)?).bytes().await?;
            print_bytes(&answer)
        }
        AcpCommand::Stream(wanted) => stream(&server, &wanted, format).await,
        AcpCommand::Close { server_ids } => {
            for id in server_ids {
                server.request(Method::DELETE, path(&id)).send().await?;
            }
            Ok(())
        }
    }
}

fn path(server_id: &str) -> String {
    format!("/v1/acp/{}", encode(server_id))
}

async fn list(server: &Server, format: Format) -> Result<(), CliError> {
    let list = server.get("/v1/acp").await?;
    if format == Format::Json {
        return print_json(&list);
    }
    for one in list["servers"].as_array().into_iter().flatten() {
        let word = |name: &str| one_line(one[name].as_str().unwrap_or_default(), 128);
        let number = |name: &str| one[name].as_u64().unwrap_or_default();
        print_line(format!(
            "{}  {}  {}  pid {}  {} waiting  {} to answer  {} readers",
            word("serverId"),
            word("agent"),
            word("status"),
            one["pid"].as_u64().map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
            number("pendingRequests"),
            one["awaiting"].as_array().map_or(0, Vec::len),
            number("readers"),
        ))?;
    }
    Ok(())
}

async fn stream(server: &Server, wanted: &StreamArguments, format: Format) -> Result<(), CliError> {
    let mut query = Vec::new();
    let (path, scope) = match wanted.server_ids.as_slice() {
        [one] => (path(one), Scope::Instance),
        many => {
            query.extend(many.iter().map(|id| format!("server={}", encode(id))));
            ("/v1/acp".to_owned(), Scope::Endless)
        }
    };
    query.extend(wanted.journal.then(|| "view=journal".to_owned()));
    query.extend(wanted.new.then(|| "replay=none".to_owned()));
    let mark = if query.is_empty() { "" } else { "?" };
    let target = format!("{path}{mark}{}", query.join("&"));
    let mut feed = Feed::open(server, target, scope, wanted.from.clone()).await?;
    while let Some(event) = feed.next().await? {
        show(&event, format)?;
    }
    Ok(())
}

/// An event for programs. Its data is the agent's own bytes.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    event: &'a str,
    /// When it happened, where the stream tells it.
    #[serde(rename = "atMs", skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    data: &'a RawValue,
}

fn show(event: &Event, format: Format) -> Result<(), CliError> {
    let Event { name, id, data, comment } = event;
    if format == Format::Text {
        return print_line(format!("{} {name} {data}", id.as_deref().unwrap_or("-")));
    }
    let at =
        comment.as_deref().and_then(|comment| comment.strip_prefix("at ")?.split(' ').next()?.parse().ok());
    let data = serde_json::from_str(data).map_err(std::io::Error::from)?;
    let line = serde_json::to_string(&Line { id: id.as_deref(), event: name, at, data })
        .map_err(std::io::Error::from)?;
    print_line(line)
}

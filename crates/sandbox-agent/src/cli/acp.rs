//! `sandbox-agent acp`: the instances of a server, and raw messages to and from them.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Serialize;
use serde_json::value::RawValue;

use super::client::{Event, EventStream, Scope, Server, ServerAddress, encode};
use super::error::CliError;
use super::input;
use super::output::{Format, print_bytes, print_json, print_line};
use super::style::one_line;
use super::table;

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
    /// List all instances
    List,
    /// Send one JSON-RPC message and print the answer, if there is one
    Post {
        /// The instance; the first message with --agent creates it
        server_id: String,
        /// The message, or @FILE, or - for standard input
        message: String,
        /// The agent to start if the instance does not exist yet
        #[arg(long, id = "started_agent", value_name = "AGENT")]
        agent: Option<String>,
        /// Do not wait for the answer; it arrives on the stream
        #[arg(long = "async")]
        respond_async: bool,
        /// Wait at most this many seconds
        #[arg(long, value_name = "SECONDS")]
        wait: Option<u32>,
    },
    /// Print the messages of agents as they arrive; reconnects when the connection breaks
    Stream(StreamArguments),
    /// Close instances and end their agents
    Close {
        /// The instances to close
        #[arg(required = true)]
        server_ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
struct StreamArguments {
    /// The instances [default: all]. The stream of a single instance ends with its agent
    server_ids: Vec<String>,
    /// Print both directions: messages from agents and from clients
    #[arg(long)]
    journal: bool,
    /// Start after the event with this id
    #[arg(long, value_name = "ID", conflicts_with = "new")]
    from: Option<String>,
    /// Start at the newest event instead of the oldest stored one
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
        AcpCommand::Stream(arguments) => stream(&server, &arguments, format).await,
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
    let instances = list["servers"].as_array().into_iter().flatten();
    let rows: Vec<[String; 7]> = instances
        .map(|instance| {
            let text = |name: &str| one_line(instance[name].as_str().unwrap_or_default(), 128);
            let number = |name: &str| instance[name].as_u64().unwrap_or_default().to_string();
            [
                text("serverId"),
                text("agent"),
                text("status"),
                instance["pid"].as_u64().map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
                number("pendingRequests"),
                instance["awaiting"].as_array().map_or(0, Vec::len).to_string(),
                number("readers"),
            ]
        })
        .collect();
    // The two columns of requests count unanswered ones: from clients to the agent, and from the agent to clients.
    let headings = ["INSTANCE", "AGENT", "STATUS", "PID", "CLIENT REQUESTS", "AGENT REQUESTS", "READERS"];
    table::print(headings, &rows)
}

async fn stream(server: &Server, arguments: &StreamArguments, format: Format) -> Result<(), CliError> {
    let mut query = Vec::new();
    let (path, scope) = match arguments.server_ids.as_slice() {
        [one] => (path(one), Scope::Instance),
        many => {
            query.extend(many.iter().map(|id| format!("server={}", encode(id))));
            ("/v1/acp".to_owned(), Scope::Endless)
        }
    };
    query.extend(arguments.journal.then(|| "view=journal".to_owned()));
    query.extend(arguments.new.then(|| "replay=none".to_owned()));
    let separator = if query.is_empty() { "" } else { "?" };
    let target = format!("{path}{separator}{}", query.join("&"));
    let mut events = EventStream::open(server, target, scope, arguments.from.clone()).await?;
    while let Some(event) = events.next().await? {
        show(&event, format)?;
    }
    Ok(())
}

/// An event, as a line of JSON for programs. The data are those that the server sent.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    event: &'a str,
    /// When the event happened; only in a journal.
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

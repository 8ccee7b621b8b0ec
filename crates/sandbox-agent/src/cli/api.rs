//! `sandbox-agent api`: the endpoints of a running server.

use agent_catalog::InstallRequest;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::CliError;
use super::install::VersionArguments;
use super::output::print_json;

#[derive(Debug, Args)]
pub(super) struct ApiArguments {
    /// Where the server is
    #[arg(long, env = "SANDBOX_AGENT_URL", default_value = "http://127.0.0.1:2468", global = true)]
    url: String,
    /// The server's token
    #[arg(long, env = "SANDBOX_AGENT_TOKEN", hide_env_values = true, global = true)]
    token: Option<String>,
    #[command(subcommand)]
    version: Version,
}

#[derive(Debug, Subcommand)]
enum Version {
    /// The first version
    V1 {
        #[command(subcommand)]
        resource: Resource,
    },
}

#[derive(Debug, Subcommand)]
enum Resource {
    /// Whether the server is well
    Health,
    /// The server's agents
    Agents {
        #[command(subcommand)]
        command: AgentsCommand,
    },
    /// The server's instances
    Acp {
        #[command(subcommand)]
        command: AcpCommand,
    },
}

#[derive(Debug, Subcommand)]
enum AgentsCommand {
    /// All agents
    List,
    /// One agent
    Show {
        /// The agent's id
        agent: String,
        /// Start it once to see its models, modes and options
        #[arg(long)]
        config: bool,
    },
    /// Install an agent
    Install {
        /// The agent's id
        agent: String,
        #[command(flatten)]
        version: VersionArguments,
    },
}

#[derive(Debug, Subcommand)]
enum AcpCommand {
    /// All instances
    List,
    /// Close an instance
    Close {
        /// The server id
        server_id: String,
    },
}

pub(super) async fn run(arguments: ApiArguments) -> Result<(), CliError> {
    let server = Server { url: arguments.url.trim_end_matches('/').to_owned(), token: arguments.token };
    let Version::V1 { resource } = arguments.version;
    let answer = match resource {
        Resource::Health => server.get("/v1/health").await?,
        Resource::Agents { command: AgentsCommand::List } => server.get("/v1/agents").await?,
        Resource::Agents { command: AgentsCommand::Show { agent, config } } => {
            let query = if config { "?config=true" } else { "" };
            server.get(&format!("/v1/agents/{}{query}", encode(&agent))).await?
        }
        Resource::Agents { command: AgentsCommand::Install { agent, version } } => {
            let path = format!("/v1/agents/{}/install", encode(&agent));
            server.send(reqwest::Method::POST, &path, Some(&InstallRequest::from(version))).await?
        }
        Resource::Acp { command: AcpCommand::List } => server.get("/v1/acp").await?,
        Resource::Acp { command: AcpCommand::Close { server_id } } => {
            server.send(reqwest::Method::DELETE, &format!("/v1/acp/{}", encode(&server_id)), None).await?
        }
    };
    match answer {
        Value::Null => Ok(()),
        answer => print_json(&answer),
    }
}

struct Server {
    url: String,
    token: Option<String>,
}

impl Server {
    async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.send(reqwest::Method::GET, path, None).await
    }

    async fn send(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Option<&InstallRequest>,
    ) -> Result<Value, CliError> {
        let unreachable = |error: reqwest::Error| CliError::Unreachable {
            url: self.url.clone(),
            reason: root_cause(&error),
        };
        let client =
            agent_catalog::build_client(Vec::new(), reqwest::Client::builder).map_err(unreachable)?;
        let mut request = client.request(method, format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(unreachable)?;
        let answer: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(answer);
        }
        let detail = answer["detail"].as_str().unwrap_or("no reason was given");
        let tail = answer["outputTail"].as_str().map(|tail| format!("\n{tail}")).unwrap_or_default();
        Err(CliError::Refused { status: status.as_u16(), detail: format!("{detail}{tail}") })
    }
}

/// The innermost reason, which is the one that says something.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// A name as one part of a path.
fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

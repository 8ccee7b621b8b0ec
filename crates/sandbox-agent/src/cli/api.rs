//! `sandbox-agent api`: the endpoints of a running server.

use agent_catalog::InstallRequest;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{ServerAddress, encode};
use super::error::CliError;
use super::install::VersionArguments;
use super::output::print_json;

#[derive(Debug, Args)]
pub(super) struct ApiArguments {
    #[command(flatten)]
    server: ServerAddress,
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
    let server = arguments.server.server()?;
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
            server.request(Method::POST, path).json_body(&json!(InstallRequest::from(version))).json().await?
        }
        Resource::Acp { command: AcpCommand::List } => server.get("/v1/acp").await?,
        Resource::Acp { command: AcpCommand::Close { server_id } } => {
            server.request(Method::DELETE, format!("/v1/acp/{}", encode(&server_id))).json().await?
        }
    };
    match answer {
        Value::Null => Ok(()),
        answer => print_json(&answer),
    }
}

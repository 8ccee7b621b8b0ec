//! `sandbox-agent mcp` and `sandbox-agent skills`: the configuration that a server stores for a directory.
//!
//! Both have the same commands, for two kinds of entries. Only the arguments of `set` differ. An entry is validated
//! here by the rules of the server, so that a mistake is reported before anything is sent.

mod mcp;
mod skills;

use clap::{Args, Subcommand};
use reqwest::Method;
use sandbox_config::{Entry as _, EntryName};
use serde_json::Value;

pub(super) use self::mcp::McpServer;
pub(super) use self::skills::Skills;
use super::client::{Request, Server, ServerAddress};
use super::error::CliError;
use super::output::{Format, print_json};

/// The arguments that `mcp` and `skills` share.
#[derive(Debug, Args)]
pub(super) struct ConfigArguments<S: Args> {
    #[command(subcommand)]
    command: ConfigCommand<S>,
    /// The directory on the server that the entry belongs to; relative paths start at the workspace
    #[arg(short, long, default_value = ".", global = true, value_name = "DIR")]
    directory: String,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    server: ServerAddress,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand<S: Args> {
    /// List all entries of the directory
    List,
    /// Show one entry
    Get {
        /// The name of the entry
        name: String,
    },
    /// Store an entry; replaces an entry with the same name
    Set(S),
    /// Remove entries
    Rm {
        /// The names of the entries
        #[arg(required = true)]
        names: Vec<String>,
    },
}

/// The arguments of `set` for one kind of entry.
pub(super) trait Entry: Args {
    /// The path in the server's API for this kind of entry.
    const PATH: &'static str;
    /// The query parameter that holds the name of an entry.
    const NAME: &'static str;
    /// The type that parses this kind of entry by the server's rules.
    type Valid: sandbox_config::Entry;

    fn name(&self) -> &str;

    /// The entry as the text of a JSON object. JSON that the user wrote is not changed.
    fn json(&self) -> Result<Vec<u8>, CliError>;

    /// Prints pairs of a name and an entry in a form for people.
    fn print(entries: &[(&String, &Value)]) -> Result<(), CliError>;
}

impl<S: Entry> ConfigArguments<S> {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }

    /// A request for the entry with this name.
    fn at(&self, server: &Server, method: Method, name: &str) -> Request {
        server.request(method, S::PATH).query("directory", &self.directory).query(S::NAME, name)
    }
}

pub(super) async fn run<S: Entry>(arguments: ConfigArguments<S>) -> Result<(), CliError> {
    let server = arguments.server.server()?;
    match &arguments.command {
        ConfigCommand::List => {
            let path = format!("{}/entries", S::PATH);
            let list =
                server.request(Method::GET, path).query("directory", &arguments.directory).json().await?;
            if arguments.format() == Format::Json {
                return print_json(&list);
            }
            S::print(&list["entries"].as_object().into_iter().flatten().collect::<Vec<_>>())
        }
        ConfigCommand::Get { name } => print_json(&arguments.at(&server, Method::GET, name).json().await?),
        ConfigCommand::Set(entry) => {
            let name = EntryName::parse(entry.name()).map_err(|error| invalid(&error))?;
            let valid = S::Valid::parse(&entry.json()?).map_err(|error| invalid(&error))?;
            let request = arguments.at(&server, Method::PUT, name.as_str());
            request.body("application/json", valid.as_json().to_owned()).send().await.map(drop)
        }
        ConfigCommand::Rm { names } => {
            for name in names {
                arguments.at(&server, Method::DELETE, name).send().await?;
            }
            Ok(())
        }
    }
}

/// The error for an entry that the server would refuse. It names the field and never repeats a value.
fn invalid(error: &sandbox_config::Error) -> CliError {
    let hint = match error {
        sandbox_config::Error::NotJson { .. } => "; give JSON, @FILE, or - for standard input",
        _ => "",
    };
    CliError::Usage(format!("nothing was stored: {error}{hint}"))
}

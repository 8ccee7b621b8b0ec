//! `sandbox-agent mcp` and `sandbox-agent skills`: the configuration that a server stores for a directory.
//!
//! Both have the same commands, for two kinds of entries. Only the arguments of `set` differ.

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::client::{Request, Server, ServerAddress};
use super::error::CliError;
use super::input;
use super::output::{Format, print_json, print_line};
use super::style;

/// The arguments that both share.
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

/// The arguments of an entry.
pub(super) trait Entry: Args {
    /// The path of this kind of entry.
    const PATH: &'static str;
    /// The query parameter with the name of an entry.
    const NAME: &'static str;

    fn name(&self) -> &str;

    /// The entry as JSON for the server.
    fn entry(&self) -> Result<Value, CliError>;

    /// A short description of an entry.
    fn describe(entry: &Value) -> String;
}

/// An MCP server
#[derive(Debug, Args)]
pub(super) struct McpServer {
    /// The name of the MCP server
    name: String,
    /// The whole entry as JSON, or @FILE, or - for standard input
    #[arg(long, value_name = "JSON", conflicts_with_all = ["mcp_url", "command"], required_unless_present_any = ["mcp_url", "command"])]
    entry: Option<String>,
    /// The URL of a remote MCP server
    #[arg(long = "at", id = "mcp_url", value_name = "URL", conflicts_with = "command")]
    at: Option<String>,
    /// The transport of the remote MCP server
    #[arg(long, requires = "mcp_url")]
    transport: Option<Transport>,
    /// A header for the remote MCP server; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "mcp_url")]
    header: Vec<(String, String)>,
    /// An environment variable for the local MCP server; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "command")]
    env: Vec<(String, String)>,
    /// The command of a local MCP server, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Transport {
    Http,
    Sse,
}

impl Entry for McpServer {
    const PATH: &'static str = "/v1/config/mcp";
    const NAME: &'static str = "mcpName";

    fn name(&self) -> &str {
        &self.name
    }

    fn entry(&self) -> Result<Value, CliError> {
        if let Some(entry) = &self.entry {
            return input::read_json(entry);
        }
        if let Some(url) = &self.at {
            let mut entry = json!({"type": "remote", "url": url});
            match self.transport {
                Some(Transport::Http) => entry["transport"] = json!("http"),
                Some(Transport::Sse) => entry["transport"] = json!("sse"),
                None => {}
            }
            return Ok(with(entry, "headers", &self.header));
        }
        let mut words = self.command.iter();
        let mut entry = json!({"type": "local", "command": words.next()});
        if self.command.len() > 1 {
            entry["args"] = words.cloned().collect();
        }
        Ok(with(entry, "env", &self.env))
    }

    fn describe(entry: &Value) -> String {
        let text = match entry["url"].as_str() {
            Some(url) => format!("remote  {url}"),
            None => {
                let words = entry["args"].as_array().into_iter().flatten();
                let command = std::iter::once(&entry["command"]).chain(words).filter_map(Value::as_str);
                format!("local  {}", command.collect::<Vec<_>>().join(" "))
            }
        };
        if entry["enabled"] == false { format!("{text}  (disabled)") } else { text }
    }
}

/// A set of skills from one source
#[derive(Debug, Args)]
pub(super) struct Skills {
    /// The name of the set of skills
    name: String,
    /// The whole entry as JSON, or @FILE, or - for standard input
    #[arg(long, value_name = "JSON", conflicts_with_all = ["github", "git", "local"], required_unless_present_any = ["github", "git", "local"])]
    entry: Option<String>,
    /// From a GitHub repository
    #[arg(long, value_name = "OWNER/NAME", conflicts_with_all = ["git", "local"])]
    github: Option<String>,
    /// From a git repository
    #[arg(long, value_name = "URL", conflicts_with = "local")]
    git: Option<String>,
    /// From a directory on the server
    #[arg(long, value_name = "DIR")]
    local: Option<String>,
    /// The branch, tag or commit of the repository
    #[arg(long = "ref", value_name = "REF", conflicts_with_all = ["entry", "local"])]
    reference: Option<String>,
    /// The directory within the source
    #[arg(long, value_name = "DIR", conflicts_with = "entry")]
    subpath: Option<String>,
    /// Only this skill of the source; repeatable
    #[arg(long = "skill", value_name = "NAME", conflicts_with = "entry")]
    skills: Vec<String>,
}

impl Entry for Skills {
    const PATH: &'static str = "/v1/config/skills";
    const NAME: &'static str = "skillName";

    fn name(&self) -> &str {
        &self.name
    }

    fn entry(&self) -> Result<Value, CliError> {
        if let Some(entry) = &self.entry {
            return input::read_json(entry);
        }
        let kinds = [("github", &self.github), ("git", &self.git), ("local", &self.local)];
        let (kind, source) = kinds
            .into_iter()
            .find_map(|(kind, source)| Some((kind, source.as_ref()?)))
            .ok_or_else(|| CliError::Usage("name the source of the skills".to_owned()))?;
        let mut skill_source = json!({"type": kind, "source": source});
        if let Some(reference) = &self.reference {
            skill_source["ref"] = json!(reference);
        }
        if let Some(subpath) = &self.subpath {
            skill_source["subpath"] = json!(subpath);
        }
        if !self.skills.is_empty() {
            skill_source["skills"] = json!(self.skills);
        }
        Ok(json!({"sources": [skill_source]}))
    }

    fn describe(entry: &Value) -> String {
        let sources = entry["sources"].as_array().into_iter().flatten();
        let named = sources.map(|source| {
            let text = |name: &str| source[name].as_str().unwrap_or_default();
            format!("{}:{}", text("type"), text("source"))
        });
        named.collect::<Vec<_>>().join("  ")
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn with(mut entry: Value, name: &str, pairs: &[(String, String)]) -> Value {
    if !pairs.is_empty() {
        let pairs = pairs.iter().map(|(name, value)| (name.clone(), json!(value)));
        entry[name] = Value::Object(pairs.collect::<Map<_, _>>());
    }
    entry
}

impl<S: Entry> ConfigArguments<S> {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }

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
            for (name, entry) in list["entries"].as_object().into_iter().flatten() {
                print_line(style::printable(&format!("{name}  {}", S::describe(entry))))?;
            }
            Ok(())
        }
        ConfigCommand::Get { name } => print_json(&arguments.at(&server, Method::GET, name).json().await?),
        ConfigCommand::Set(entry) => {
            let body = entry.entry()?;
            arguments.at(&server, Method::PUT, entry.name()).json_body(&body).send().await.map(drop)
        }
        ConfigCommand::Rm { names } => {
            for name in names {
                arguments.at(&server, Method::DELETE, name).send().await?;
            }
            Ok(())
        }
    }
}

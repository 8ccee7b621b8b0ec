//! `sandbox-agent mcp` and `sandbox-agent skills`: the configuration that a server keeps for a directory.
//!
//! The same commands over two kinds of entry; only what `set` can be told differs.

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::client::{Request, Server, ServerAddress};
use super::error::CliError;
use super::input;
use super::output::{Format, print_json, print_line};
use super::style;

/// What both have.
#[derive(Debug, Args)]
pub(super) struct ConfigArguments<S: Args> {
    #[command(subcommand)]
    command: ConfigCommand<S>,
    /// The directory it belongs to, on the server; relative ones start at its workspace
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
    /// All entries of the directory
    List,
    /// One entry
    Get {
        /// Its name
        name: String,
    },
    /// Store an entry, in place of one of the same name
    Set(S),
    /// Remove entries
    Rm {
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
    },
}

/// What an entry is made of.
pub(super) trait Entry: Args {
    /// Where entries of this kind are.
    const PATH: &'static str;
    /// The parameter that names one.
    const NAME: &'static str;

    fn name(&self) -> &str;

    /// The entry as the server wants it.
    fn entry(&self) -> Result<Value, CliError>;

    /// An entry in a few words.
    fn describe(entry: &Value) -> String;
}

/// An MCP server
#[derive(Debug, Args)]
pub(super) struct McpServer {
    /// Its name
    name: String,
    /// The whole entry as JSON, or @FILE, or - for standard input
    #[arg(long, value_name = "JSON", conflicts_with_all = ["mcp_url", "command"], required_unless_present_any = ["mcp_url", "command"])]
    entry: Option<String>,
    /// A server elsewhere, by its address
    #[arg(long = "at", id = "mcp_url", value_name = "URL", conflicts_with = "command")]
    at: Option<String>,
    /// How it is talked to
    #[arg(long, requires = "mcp_url")]
    transport: Option<Transport>,
    /// A header for it; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "mcp_url")]
    header: Vec<(String, String)>,
    /// A variable for a server that is started; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "command")]
    env: Vec<(String, String)>,
    /// A server that is started: its command, after --
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

/// Skills, from one source
#[derive(Debug, Args)]
pub(super) struct Skills {
    /// Their name
    name: String,
    /// The whole entry as JSON, or @FILE, or - for standard input
    #[arg(long, value_name = "JSON", conflicts_with_all = ["github", "git", "local"], required_unless_present_any = ["github", "git", "local"])]
    entry: Option<String>,
    /// From a repository of GitHub
    #[arg(long, value_name = "OWNER/NAME", conflicts_with_all = ["git", "local"])]
    github: Option<String>,
    /// From a git repository
    #[arg(long, value_name = "URL", conflicts_with = "local")]
    git: Option<String>,
    /// From a directory of the server
    #[arg(long, value_name = "DIR")]
    local: Option<String>,
    /// The branch, tag or commit
    #[arg(long = "ref", value_name = "REF", conflicts_with_all = ["entry", "local"])]
    reference: Option<String>,
    /// The directory within the source
    #[arg(long, value_name = "DIR", conflicts_with = "entry")]
    subpath: Option<String>,
    /// Only this one of its skills; repeatable
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
            .ok_or_else(|| CliError::Usage("say where the skills come from".to_owned()))?;
        let mut described = json!({"type": kind, "source": source});
        if let Some(reference) = &self.reference {
            described["ref"] = json!(reference);
        }
        if let Some(subpath) = &self.subpath {
            described["subpath"] = json!(subpath);
        }
        if !self.skills.is_empty() {
            described["skills"] = json!(self.skills);
        }
        Ok(json!({"sources": [described]}))
    }

    fn describe(entry: &Value) -> String {
        let sources = entry["sources"].as_array().into_iter().flatten();
        let named = sources.map(|source| {
            let word = |name: &str| source[name].as_str().unwrap_or_default();
            format!("{}:{}", word("type"), word("source"))
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
                print_line(style::name(&format!("{name}  {}", S::describe(entry))))?;
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

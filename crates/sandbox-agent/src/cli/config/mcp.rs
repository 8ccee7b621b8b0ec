//! The arguments of an MCP server: a program to start, or an address to connect to.

use clap::{Args, ValueEnum};
use sandbox_config::McpEntry;
use serde_json::{Map, Value, json};

use super::Entry;
use crate::cli::error::CliError;
use crate::cli::input;
use crate::cli::table;

/// An MCP server
#[derive(Debug, Args)]
pub(in crate::cli) struct McpServer {
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
    /// A header whose value is in an environment variable of the client; repeatable
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = pair, requires = "mcp_url")]
    env_header: Vec<(String, String)>,
    /// The environment variable of the client that has the bearer token for the remote MCP server
    #[arg(long, value_name = "VARIABLE", requires = "mcp_url")]
    bearer_token_env: Option<String>,
    /// OAuth of the remote MCP server: true, false, an object as JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", requires = "mcp_url")]
    oauth: Option<String>,
    /// An environment variable for the local MCP server; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "command")]
    env: Vec<(String, String)>,
    /// The working directory of the local MCP server
    #[arg(long, value_name = "DIR", requires = "command")]
    cwd: Option<String>,
    /// Store the MCP server as disabled: clients should not use it
    #[arg(long, conflicts_with = "entry")]
    disabled: bool,
    /// How many milliseconds clients should wait for the MCP server
    #[arg(long, value_name = "NUMBER", conflicts_with = "entry")]
    timeout_ms: Option<u64>,
    /// The command of a local MCP server, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Transport {
    Http,
    Sse,
}

impl Transport {
    const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

impl Entry for McpServer {
    const PATH: &'static str = "/v1/config/mcp";
    const NAME: &'static str = "mcpName";
    type Valid = McpEntry;

    fn name(&self) -> &str {
        &self.name
    }

    fn json(&self) -> Result<Vec<u8>, CliError> {
        if let Some(entry) = &self.entry {
            return input::read(entry);
        }
        let mut entry = match &self.at {
            Some(url) => self.remote(url)?,
            None => self.local()?,
        };
        if self.disabled {
            entry["enabled"] = json!(false);
        }
        set(&mut entry, "timeoutMs", self.timeout_ms.map(Value::from));
        Ok(entry.to_string().into_bytes())
    }

    fn print(entries: &[(&String, &Value)]) -> Result<(), CliError> {
        let rows: Vec<[String; 3]> = entries
            .iter()
            .map(|(name, entry)| {
                let (kind, text) = describe(entry);
                let state = if entry["enabled"] == false { "  (disabled)" } else { "" };
                [(*name).clone(), kind.to_owned(), format!("{text}{state}")]
            })
            .collect();
        table::print(["NAME", "TYPE", "COMMAND OR URL"], &rows)
    }
}

impl McpServer {
    fn remote(&self, url: &str) -> Result<Value, CliError> {
        let mut entry = json!({"type": "remote", "url": url});
        set(&mut entry, "transport", self.transport.map(|transport| json!(transport.name())));
        set(&mut entry, "headers", object("--header", &self.header)?);
        set(&mut entry, "envHeaders", object("--env-header", &self.env_header)?);
        set(&mut entry, "bearerTokenEnvVar", self.bearer_token_env.as_ref().map(|name| json!(name)));
        set(&mut entry, "oauth", self.oauth.as_deref().map(input::read_json).transpose()?);
        Ok(entry)
    }

    fn local(&self) -> Result<Value, CliError> {
        let mut words = self.command.iter();
        let mut entry = json!({"type": "local", "command": words.next()});
        let arguments: Value = words.cloned().collect();
        set(&mut entry, "args", Some(arguments).filter(|_| self.command.len() > 1));
        set(&mut entry, "env", object("--env", &self.env)?);
        set(&mut entry, "cwd", self.cwd.as_ref().map(|directory| json!(directory)));
        Ok(entry)
    }
}

/// The kind of an entry, and its URL or its command. The command may be a list that starts with the program.
fn describe(entry: &Value) -> (&'static str, String) {
    if let Some(url) = entry["url"].as_str() {
        return ("remote", url.to_owned());
    }
    let first = entry["command"].as_str();
    let lists = [&entry["command"], &entry["args"]].into_iter();
    let others = lists.flat_map(|list| list.as_array().into_iter().flatten()).filter_map(Value::as_str);
    ("local", first.into_iter().chain(others).collect::<Vec<_>>().join(" "))
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| "it has no =".to_owned())?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Adds a field, if it has a value.
fn set(entry: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        entry[name] = value;
    }
}

/// The pairs as an object; `None` if there are none. A name may not be given twice.
fn object(flag: &str, pairs: &[(String, String)]) -> Result<Option<Value>, CliError> {
    let mut fields = Map::new();
    for (name, value) in pairs {
        if fields.insert(name.clone(), json!(value)).is_some() {
            return Err(CliError::Usage(format!("{flag} has {name} twice")));
        }
    }
    Ok(Some(fields).filter(|fields| !fields.is_empty()).map(Value::Object))
}

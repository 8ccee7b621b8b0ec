//! The flags of `sandbox-agent server`, each with its environment variable.

use std::path::PathBuf;

use agent_catalog::CommandSpec;
use clap::{Args, ValueEnum};
use http_server::Origin;
use process_supervisor::Confinement;
use serde::Deserialize;

use super::journal::JournalArguments;
use super::units::{ByteSize, TimeSpan};

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// One line per event, for people.
    #[default]
    Text,
    /// One JSON object per event, for programs.
    Json,
}

/// The processes that agents and installers may send signals to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AgentConfinement {
    /// Only processes that they have started. Unless they run as root, sudo fails in them.
    #[default]
    Signals,
    /// All processes of their user.
    Off,
}

impl From<AgentConfinement> for Confinement {
    fn from(confinement: AgentConfinement) -> Self {
        match confinement {
            AgentConfinement::Signals => Self::Signals,
            AgentConfinement::Off => Self::Off,
        }
    }
}

/// Options of the server. A flag wins over the environment, the environment over the config file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerArguments {
    /// Address or name to listen on [default: 127.0.0.1]
    #[arg(long, env = "SANDBOX_AGENT_HOST")]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 picks a free one [default: 2468]
    #[arg(long, env = "SANDBOX_AGENT_PORT")]
    pub(crate) port: Option<u16>,
    /// Token that clients must send. Other processes can see it: prefer --token-file [env: SANDBOX_AGENT_TOKEN]
    // The two variables are read by hand: clap treats a variable like its flag, and either flag must win over either
    // variable.
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) token: Option<String>,
    /// File that contains the token [env: SANDBOX_AGENT_TOKEN_FILE]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Require no token, even if other machines can reach the server
    #[arg(long, conflicts_with_all = ["token", "token_file"])]
    pub(crate) no_token: bool,
    /// Origin of a web page that may use the server; repeatable
    #[arg(long, env = "SANDBOX_AGENT_CORS_ALLOW_ORIGIN", value_delimiter = ',', value_name = "ORIGIN")]
    pub(crate) cors_allow_origin: Vec<Origin>,
    #[command(flatten)]
    pub(crate) catalog: CatalogArguments,
    #[command(flatten)]
    pub(crate) files: FileArguments,
    /// What to log: error, warn, info, debug, trace, or a filter such as acp_instances=debug [default: info]
    #[arg(long, env = "SANDBOX_AGENT_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// Log format [default: text]
    #[arg(long, env = "SANDBOX_AGENT_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// Stop when standard input closes; for programs that run the server as a child process
    // There is no variable for this flag: servers that agents start would inherit it.
    #[arg(long)]
    pub(crate) stop_with_stdin: bool,
    #[command(flatten)]
    pub(crate) journal: JournalArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
}

/// Where agents come from. Shared by the server and the commands that need no server.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agents")]
pub(crate) struct CatalogArguments {
    /// Config file [default: $XDG_CONFIG_HOME/sandbox-agent/config.toml]
    #[arg(long, env = "SANDBOX_AGENT_CONFIG", value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Directory for installed agents and stored configuration [default: $XDG_DATA_HOME/sandbox-agent]
    #[arg(long, env = "SANDBOX_AGENT_DATA_DIR", value_name = "DIR", global = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Add your own agent, as NAME=COMMAND with arguments; repeatable
    #[arg(long = "agent", id = "custom_agent", value_parser = parse_agent, value_name = "NAME=COMMAND", global = true)]
    pub(crate) agent: Vec<(String, CommandSpec)>,
    /// URL of the ACP registry: http, https or file
    #[arg(long, env = "SANDBOX_AGENT_ACP_REGISTRY_URL", value_name = "URL", global = true)]
    pub(crate) acp_registry_url: Option<String>,
    /// Do not install agents on first use; answer 409 instead
    #[arg(long, env = "SANDBOX_AGENT_REQUIRE_PREINSTALL", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) require_preinstall: bool,
    /// `signals`: agents and installers can signal only their own processes (Linux 6.12 with Landlock). Unless they
    /// run as root, sudo and other set-user-ID programs fail in them; `off` is for agents that need these [default:
    /// signals]
    #[arg(long, env = "SANDBOX_AGENT_AGENT_CONFINEMENT", value_name = "WHAT", global = true)]
    pub(crate) agent_confinement: Option<AgentConfinement>,
}

/// Which files are served.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct FileArguments {
    /// Base directory of relative paths of files and configuration [default: the directory the server was started in]
    #[arg(long, env = "SANDBOX_AGENT_WORKSPACE", value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Serve only files below this directory; symbolic links cannot leave it [default: everything]
    #[arg(long, env = "SANDBOX_AGENT_FS_ROOT", value_name = "DIR")]
    pub(crate) fs_root: Option<PathBuf>,
}

/// Limits and timeouts. Sizes and times take units (64MiB, 90s, 1h).
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArguments {
    /// Maximum size of a message, in either direction [default: 32MiB]
    #[arg(long, env = "SANDBOX_AGENT_MAX_MESSAGE_BYTES", value_name = "SIZE")]
    pub(crate) max_message_bytes: Option<ByteSize>,
    /// Maximum size of one agent's input queue [default: 64MiB]
    #[arg(long, env = "SANDBOX_AGENT_STDIN_QUEUE_BYTES", value_name = "SIZE")]
    pub(crate) stdin_queue_bytes: Option<ByteSize>,
    /// Maximum size of the events that one instance keeps in memory [default: 4MiB, or 64MiB without a journal]
    #[arg(long, env = "SANDBOX_AGENT_REPLAY_BYTES", value_name = "SIZE")]
    pub(crate) replay_bytes: Option<ByteSize>,
    /// Maximum number of events that one instance keeps in memory [default: 65536]
    #[arg(long, env = "SANDBOX_AGENT_REPLAY_EVENTS", value_name = "COUNT")]
    pub(crate) replay_events: Option<usize>,
    /// Maximum memory for the messages of all instances together [default: 1GiB]
    #[arg(long, env = "SANDBOX_AGENT_MEMORY_BUDGET", value_name = "SIZE")]
    pub(crate) memory_budget: Option<ByteSize>,
    /// How long a request waits for its answer; 0 means forever [default: 1h]
    #[arg(long, env = "SANDBOX_AGENT_REQUEST_TIMEOUT", value_name = "TIME")]
    pub(crate) request_timeout: Option<TimeSpan>,
    /// Maximum number of requests that wait for one agent [default: 4096]
    #[arg(long, env = "SANDBOX_AGENT_MAX_PENDING", value_name = "COUNT")]
    pub(crate) max_pending: Option<usize>,
    /// Maximum number of instances [default: 1024]
    #[arg(long, env = "SANDBOX_AGENT_MAX_INSTANCES", value_name = "COUNT")]
    pub(crate) max_instances: Option<usize>,
    /// Maximum number of connections. At the limit, connections without an admitted request make room [default: 4096]
    #[arg(long, env = "SANDBOX_AGENT_MAX_CONNECTIONS", value_name = "COUNT")]
    pub(crate) max_connections: Option<usize>,
    /// Disconnect a client that takes nothing for this long of what is ready for it; 0 means never [default: 1m]
    #[arg(long, env = "SANDBOX_AGENT_SEND_TIMEOUT", value_name = "TIME")]
    pub(crate) send_timeout: Option<TimeSpan>,
    /// Close an instance after this much idle time; 0 means never [default: 0]
    #[arg(long, env = "SANDBOX_AGENT_INSTANCE_IDLE_TIMEOUT", value_name = "TIME")]
    pub(crate) instance_idle_timeout: Option<TimeSpan>,
    /// How long a closed agent may take to exit on its own before it gets SIGTERM [default: 2s]
    #[arg(long, env = "SANDBOX_AGENT_CLOSE_GRACE", value_name = "TIME")]
    pub(crate) close_grace: Option<TimeSpan>,
    /// How long a closed agent may take to exit after SIGTERM before it gets SIGKILL [default: 3s]
    #[arg(long, env = "SANDBOX_AGENT_TERMINATE_GRACE", value_name = "TIME")]
    pub(crate) terminate_grace: Option<TimeSpan>,
    /// Maximum size of one upload, unpacked if it is an archive; 0 means no limit [default: 0]
    #[arg(long, env = "SANDBOX_AGENT_MAX_UPLOAD_BYTES", value_name = "SIZE")]
    pub(crate) max_upload_bytes: Option<ByteSize>,
    /// Maximum number of entries in one uploaded archive; 0 means no limit [default: 500000]
    #[arg(long, env = "SANDBOX_AGENT_MAX_UPLOAD_ENTRIES", value_name = "COUNT")]
    pub(crate) max_upload_entries: Option<u64>,
}

fn parse_agent(text: &str) -> Result<(String, CommandSpec), String> {
    let invalid = || format!("`{text}` is not NAME=COMMAND, as in --agent my-agent='node agent.js --acp'");
    let (name, command) = text.split_once('=').ok_or_else(invalid)?;
    let mut words = split_words(command)?.into_iter();
    let command =
        words.next().filter(|command| !command.is_empty() && !name.is_empty()).ok_or_else(invalid)?;
    let spec = CommandSpec { command: command.into(), args: words.collect(), ..CommandSpec::default() };
    Ok((name.to_owned(), spec))
}

/// Splits a command into words as a shell does. Only quotes and backslashes are special: no variables, globs or
/// pipes.
pub(crate) fn split_words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"') | None, '\\') => {
                let next = characters.next().ok_or("the command ends with a single backslash")?;
                word.get_or_insert_default().push(next);
            }
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err("a quote in the command is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_in_a_shell() {
        let words = split_words(r#"node  "a b".js 'it''s' c\ d "" "x\"y""#).unwrap();
        assert_eq!(words, ["node", "a b.js", "its", "c d", "", "x\"y"]);
        assert!(split_words("'open").is_err());
        assert!(split_words("end\\").is_err());
    }

    #[test]
    fn an_agent_is_a_name_and_a_command() {
        let (name, spec) = parse_agent("mine=python3 -m agent --x=1").unwrap();
        assert_eq!((name.as_str(), spec.command.to_str().unwrap()), ("mine", "python3"));
        assert_eq!(spec.args, ["-m", "agent", "--x=1"]);
        for bad in ["mine", "mine=", "=x", "mine='"] {
            assert!(parse_agent(bad).is_err(), "{bad}");
        }
    }
}

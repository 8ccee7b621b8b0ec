//! The server's settings. A flag wins over the environment, the environment over the config file, the config file
//! over the default.

mod arguments;
#[cfg(test)]
mod documentation;
mod effective;
mod file;
mod files;
mod journal;
mod units;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_instances::Limits;
use agent_catalog::{AgentId, CatalogOptions, CommandSpec, PreinstallPolicy};
use http_server::exposure::OpenNetwork;
use http_server::{ConnectionLimits, Exposure, ExposureError, Token};
use process_supervisor::Confinement;

use self::arguments::LimitArguments;
#[cfg(test)]
pub(crate) use self::arguments::split_words;
pub(crate) use self::arguments::{CatalogArguments, LogFormat, ServerArguments};
pub(crate) use self::effective::EffectiveLimits;
use self::file::ConfigFile;
pub(crate) use self::files::FileSettings;
pub(crate) use self::journal::JournalSettings;

/// How much of each instance's past is in memory by default when there is a journal.
const JOURNALLED_REPLAY_BYTES: usize = 4 << 20;

/// Fewer connections are not enough for one page with its streams.
const MIN_CONNECTIONS: usize = 16;

/// The resolved settings of a server.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The addresses to listen on.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Which clients may use the server.
    pub(crate) exposure: Exposure,
    /// True when the token was given on the command line, where other processes can read it.
    pub(crate) token_in_command_line: bool,
    /// The limits of the engine, and where its agents come from.
    pub(crate) engine: EngineSettings,
    /// Where events are kept; `None` to keep them in memory only.
    pub(crate) journal: Option<JournalSettings>,
    /// Which files are served.
    pub(crate) files: FileSettings,
    /// The limits of connections.
    pub(crate) connections: ConnectionLimits,
    pub(crate) log_filter: String,
    /// True when the server stops at the end of standard input.
    pub(crate) stop_with_stdin: bool,
}

/// The settings of an engine, with or without a server.
#[derive(Debug)]
pub(crate) struct EngineSettings {
    pub(crate) limits: Limits,
    /// Where agents come from.
    pub(crate) catalog: CatalogOptions,
    /// The confinement of agents, probes and installers.
    pub(crate) confinement: Confinement,
    pub(crate) log_format: LogFormat,
}

impl EngineSettings {
    /// The settings of an engine without a server: limits come only from the config file.
    pub(crate) fn resolve(arguments: &CatalogArguments) -> Result<Self, SettingsError> {
        let file = ConfigFile::load(arguments.config.as_deref())?;
        Ok(Self {
            limits: limits(&LimitArguments::default(), &file)?,
            catalog: catalog(arguments, &file)?,
            confinement: confinement(arguments, &file),
            log_format: file.log_format.unwrap_or_default(),
        })
    }
}

/// Why the settings are invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("cannot read the config file {path}: {reason}")]
    ConfigFile { path: String, reason: String },
    #[error("cannot read the token file {path}: {reason}")]
    TokenFile { path: String, reason: String },
    #[error("cannot listen on `{host}`: {reason}; give an address such as 127.0.0.1 or 0.0.0.0")]
    Host { host: String, reason: String },
    #[error("{0}")]
    Exposure(#[from] ExposureError),
    #[error("agent `{name}`: {reason}")]
    Agent { name: String, reason: String },
    #[error("neither XDG_DATA_HOME nor HOME is set; set the data directory with --data-dir")]
    NoDataDirectory,
    #[error("{0} must be at least {1}")]
    TooSmall(&'static str, usize),
    #[error("cannot find the directory the server was started in: {0}; set the workspace with --workspace")]
    NoWorkspace(std::io::Error),
}

impl Settings {
    /// Resolves the settings from flags, environment and config file.
    pub(crate) fn resolve(arguments: &ServerArguments) -> Result<Self, SettingsError> {
        let file = ConfigFile::load(arguments.catalog.config.as_deref())?;
        let token_in_command_line = arguments.token.is_some();
        let token = token(arguments, &file)?;
        let host = arguments.host.clone().or(file.host.clone()).unwrap_or_else(|| "127.0.0.1".to_owned());
        let port = arguments.port.or(file.port).unwrap_or(2468);
        let addresses = resolve_host(&host, port)?;
        let origins = if arguments.cors_allow_origin.is_empty() {
            file.cors_allow_origin.iter().map(|text| text.parse()).collect::<Result<_, _>>()?
        } else {
            arguments.cors_allow_origin.clone()
        };
        let loopback_only = addresses.iter().all(|address| address.ip().is_loopback());
        let exposure = Exposure { token, loopback_only, origins };
        let open = if arguments.no_token || file.no_token.unwrap_or(false) {
            OpenNetwork::Allowed
        } else {
            OpenNetwork::Refused
        };
        exposure.check(&host, open)?;
        let catalog = catalog(&arguments.catalog, &file)?;
        let journal = JournalSettings::resolve(&arguments.journal, &file, &catalog.data_dir);
        let mut limits = limits(&arguments.limits, &file)?;
        let is_replay_given = arguments.limits.replay_bytes.or(file.limits.replay_bytes).is_some();
        if journal.is_some() && !is_replay_given {
            // Events that are not in memory are read from the journal.
            limits.replay_bytes = JOURNALLED_REPLAY_BYTES;
        }
        Ok(Self {
            addresses,
            exposure,
            token_in_command_line,
            engine: EngineSettings {
                limits,
                catalog,
                confinement: confinement(&arguments.catalog, &file),
                log_format: arguments.log_format.or(file.log_format).unwrap_or_default(),
            },
            journal,
            files: FileSettings::resolve(arguments, &file)?,
            connections: connection_limits(&arguments.limits, &file.limits)?,
            log_filter: arguments.log.clone().or(file.log.clone()).unwrap_or_else(|| "info".to_owned()),
            stop_with_stdin: arguments.stop_with_stdin,
        })
    }
}

/// The token: from a flag, else the environment, else the config file. In each, a token wins over a token file.
fn token(arguments: &ServerArguments, file: &ConfigFile) -> Result<Option<Token>, SettingsError> {
    if arguments.no_token {
        return Ok(None);
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let from_environment = variable("SANDBOX_AGENT_TOKEN").map(|text| text.to_string_lossy().into_owned());
    let sources = [
        (arguments.token.clone(), arguments.token_file.clone()),
        (from_environment, variable("SANDBOX_AGENT_TOKEN_FILE").map(PathBuf::from)),
        (file.token.clone(), file.token_file.clone()),
    ];
    for (text, path) in sources {
        if let Some(text) = text {
            return Ok(Some(Token::new(&text)?));
        }
        if let Some(path) = path {
            return read_token(&path).map(Some);
        }
    }
    Ok(None)
}

fn read_token(path: &Path) -> Result<Token, SettingsError> {
    let text = std::fs::read_to_string(path).map_err(|error| SettingsError::TokenFile {
        path: path.display().to_string(),
        reason: error.to_string(),
    })?;
    Ok(Token::new(text.trim())?)
}

fn resolve_host(host: &str, port: u16) -> Result<Vec<SocketAddr>, SettingsError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let invalid = |reason: String| SettingsError::Host { host: host.to_owned(), reason };
    let found: Vec<_> = (bare, port).to_socket_addrs().map_err(|error| invalid(error.to_string()))?.collect();
    if found.is_empty() {
        return Err(invalid("the name has no address".to_owned()));
    }
    Ok(found)
}

fn connection_limits(
    given: &LimitArguments,
    file: &LimitArguments,
) -> Result<ConnectionLimits, SettingsError> {
    let default = ConnectionLimits::default();
    let max_connections = given.max_connections.or(file.max_connections).unwrap_or(default.max_connections);
    if max_connections < MIN_CONNECTIONS {
        return Err(SettingsError::TooSmall("--max-connections", MIN_CONNECTIONS));
    }
    let send_timeout = given.send_timeout.or(file.send_timeout).map_or(default.send_timeout, |given| {
        // Zero means no limit.
        Some(given.get()).filter(|time| !time.is_zero())
    });
    Ok(ConnectionLimits { max_connections, send_timeout })
}

fn limits(given: &LimitArguments, file: &ConfigFile) -> Result<Limits, SettingsError> {
    let default = Limits::default();
    let from_file = &file.limits;
    macro_rules! choose {
        ($name:ident, $default:expr) => {
            given.$name.clone().or(from_file.$name.clone()).map_or($default, |value| value.get())
        };
    }
    // Zero means no limit.
    let optional = |given: Duration| (!given.is_zero()).then_some(given);
    let limits = Limits {
        max_message_bytes: choose!(max_message_bytes, default.max_message_bytes),
        stdin_queue_bytes: choose!(stdin_queue_bytes, default.stdin_queue_bytes),
        replay_bytes: choose!(replay_bytes, default.replay_bytes),
        retained_bytes: choose!(replay_bytes, default.retained_bytes),
        replay_events: given.replay_events.or(from_file.replay_events).unwrap_or(default.replay_events),
        memory_budget: choose!(memory_budget, default.memory_budget),
        request_timeout: optional(choose!(request_timeout, default.request_timeout.unwrap_or_default())),
        max_pending: given.max_pending.or(from_file.max_pending).unwrap_or(default.max_pending),
        max_instances: given.max_instances.or(from_file.max_instances).unwrap_or(default.max_instances),
        instance_idle_timeout: optional(choose!(instance_idle_timeout, Duration::ZERO)),
        close_grace: choose!(close_grace, default.close_grace),
        terminate_grace: choose!(terminate_grace, default.terminate_grace),
        ..default
    };
    for (name, value, minimum) in [
        ("--max-message-bytes", limits.max_message_bytes, 1024),
        ("--stdin-queue-bytes", limits.stdin_queue_bytes, 1024),
        ("--memory-budget", limits.memory_budget, 1 << 20),
        ("--replay-events", limits.replay_events, 1),
        ("--max-pending", limits.max_pending, 1),
        ("--max-instances", limits.max_instances, 1),
    ] {
        if value < minimum {
            return Err(SettingsError::TooSmall(name, minimum));
        }
    }
    Ok(limits)
}

/// The options of the catalog for commands that need no engine. Also prepares this process to start installers.
pub(crate) fn catalog_options(arguments: &CatalogArguments) -> Result<CatalogOptions, SettingsError> {
    let file = ConfigFile::load(arguments.config.as_deref())?;
    crate::engine::prepare_to_launch(confinement(arguments, &file));
    catalog(arguments, &file)
}

fn confinement(arguments: &CatalogArguments, file: &ConfigFile) -> Confinement {
    arguments.agent_confinement.or(file.agent_confinement).unwrap_or_default().into()
}

fn catalog(arguments: &CatalogArguments, file: &ConfigFile) -> Result<CatalogOptions, SettingsError> {
    let data_dir = arguments.data_dir.clone().or(file.data_dir.clone()).or_else(default_data_dir);
    let mut options = CatalogOptions::new(data_dir.ok_or(SettingsError::NoDataDirectory)?);
    if let Some(url) = arguments.acp_registry_url.clone().or(file.acp_registry_url.clone()) {
        options.registry_url = url;
    }
    if arguments.require_preinstall || file.require_preinstall.unwrap_or(false) {
        options.preinstall = PreinstallPolicy::Required;
    }
    let mut agents: BTreeMap<String, CommandSpec> = file.agents.clone();
    agents.extend(arguments.agent.iter().cloned());
    for (name, mut spec) in agents {
        let invalid = |reason: String| SettingsError::Agent { name: name.clone(), reason };
        let id: AgentId =
            name.parse().map_err(|error: agent_catalog::CatalogError| invalid(error.to_string()))?;
        if spec.command.components().count() > 1 {
            // A relative path is relative to the directory that the server was started in, not to the agent's working
            // directory.
            spec.command = std::path::absolute(&spec.command).map_err(|error| invalid(error.to_string()))?;
        }
        options.custom_agents.insert(id, spec);
    }
    options.mock_command = Some(CommandSpec {
        // The supervisor that executes this path runs the same binary, even after the file was replaced.
        command: process_supervisor::own_program().to_owned(),
        args: vec!["mock-agent".to_owned()],
        ..CommandSpec::default()
    });
    Ok(options)
}

fn default_data_dir() -> Option<PathBuf> {
    xdg("XDG_DATA_HOME", ".local/share").map(|base| base.join("sandbox-agent"))
}

/// A base directory of the XDG specification.
fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set(variable).or_else(|| set("HOME").map(|home| home.join(below_home)))
}

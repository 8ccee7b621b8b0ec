//! The config file. Unknown keys are an error: a misspelt limit must not be ignored silently.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use agent_catalog::CommandSpec;
use serde::Deserialize;

use super::SettingsError;
use super::arguments::{AgentConfinement, LimitArguments, LogFormat};
use super::journal::JournalSync;
use super::units::{ByteSize, TimeSpan};

/// The content of a config file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ConfigFile {
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) token: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) no_token: Option<bool>,
    pub(super) cors_allow_origin: Vec<String>,
    pub(super) data_dir: Option<PathBuf>,
    pub(super) workspace: Option<PathBuf>,
    pub(super) fs_root: Option<PathBuf>,
    pub(super) acp_registry_url: Option<String>,
    pub(super) require_preinstall: Option<bool>,
    pub(super) agent_confinement: Option<AgentConfinement>,
    pub(super) log: Option<String>,
    pub(super) log_format: Option<LogFormat>,
    pub(super) journal: Option<PathBuf>,
    pub(super) journal_bytes: Option<ByteSize>,
    pub(super) journal_instance_bytes: Option<ByteSize>,
    pub(super) journal_age: Option<TimeSpan>,
    pub(super) journal_sync: Option<JournalSync>,
    pub(super) limits: LimitArguments,
    pub(super) agents: BTreeMap<String, CommandSpec>,
}

impl ConfigFile {
    /// Loads the named file, or else the one at the default path if it exists.
    pub(super) fn load(named: Option<&Path>) -> Result<Self, SettingsError> {
        let default =
            || super::xdg("XDG_CONFIG_HOME", ".config").map(|base| base.join("sandbox-agent/config.toml"));
        let Some(path) = named.map(Path::to_owned).or_else(default) else { return Ok(Self::default()) };
        let invalid = |reason: String| SettingsError::ConfigFile { path: path.display().to_string(), reason };
        match std::fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map_err(|error| invalid(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => Ok(Self::default()),
            Err(error) => Err(invalid(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_sets_limits_and_agents_and_unknown_keys_are_an_error() {
        let file: ConfigFile = toml::from_str(
            r#"
            port = 9000
            cors_allow_origin = ["http://localhost:3000"]
            [limits]
            replay_bytes = "1MiB"
            request_timeout = 30
            [agents.mine]
            command = "./agent"
            args = ["--acp"]
            env = { KEY = "value" }
            "#,
        )
        .unwrap();
        assert_eq!(file.port, Some(9000));
        assert_eq!(file.limits.replay_bytes.unwrap().get(), 1 << 20);
        assert_eq!(file.agents["mine"].args, ["--acp"]);
        assert!(toml::from_str::<ConfigFile>("prot = 9000").is_err());
        assert!(toml::from_str::<ConfigFile>("[limits]\nreplay = 1").is_err());
    }
}

//! The server that a command uses, and the token for it.

use std::path::PathBuf;

use clap::Args;

use super::Server;
use crate::cli::error::CliError;

/// The default URL of the server.
const DEFAULT_URL: &str = "http://127.0.0.1:2468";

/// The arguments that name a running server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub(in crate::cli) struct ServerAddress {
    /// URL of the server [default: http://127.0.0.1:2468]
    #[arg(long, env = "SANDBOX_AGENT_URL", value_name = "URL", global = true)]
    url: Option<String>,
    #[command(flatten)]
    token: TokenArguments,
}

impl ServerAddress {
    /// The server that the arguments name.
    pub(in crate::cli) fn server(&self) -> Result<Server, CliError> {
        let url = self.url.as_deref().filter(|url| !url.is_empty()).unwrap_or(DEFAULT_URL);
        Server::at(url, self.token.token()?.as_deref())
    }
}

/// The arguments for a server's token.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub(in crate::cli) struct TokenArguments {
    /// The server's token. Other processes can see it: prefer --token-file [env: SANDBOX_AGENT_TOKEN]
    // Both variables are read by hand, as in the server: either flag wins over either variable.
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file", global = true)]
    token: Option<String>,
    /// File that contains the server's token [env: SANDBOX_AGENT_TOKEN_FILE]
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
}

impl TokenArguments {
    /// The token, if one is set.
    pub(in crate::cli) fn token(&self) -> Result<Option<String>, CliError> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let from_environment =
            variable("SANDBOX_AGENT_TOKEN").map(|text| text.to_string_lossy().into_owned());
        let sources = [
            (self.token.clone(), self.token_file.clone()),
            (from_environment, variable("SANDBOX_AGENT_TOKEN_FILE").map(PathBuf::from)),
        ];
        for (text, path) in sources {
            if text.is_some() {
                return Ok(text);
            }
            if let Some(path) = path {
                let text = std::fs::read_to_string(&path).map_err(|error| CliError::local(&path, &error))?;
                return Ok(Some(text.trim().to_owned()));
            }
        }
        Ok(None)
    }
}

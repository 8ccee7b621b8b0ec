//! Where a prompt runs: on a server that is there, or on one that lives for this call alone.

use super::wire::random_text;
use crate::cli::client::Server;
use crate::cli::error::CliError;
use crate::server::{Running, hide_from_agents};
use crate::settings::{CatalogArguments, ServerArguments, Settings};

/// What is logged by a server that lives for one call, unless `SANDBOX_AGENT_LOG` says otherwise: what a person at
/// the terminal must know.
const LOG_FILTER: &str = "error";

/// The server of a prompt.
#[derive(Debug)]
pub(super) enum Host {
    /// Somebody else's; its files are not ours.
    There(Server),
    /// Our own, in this process.
    Own(Server, Box<Running>),
}

impl Host {
    /// Starts a server in this process, on a free port of the loopback address, with a token that nobody else knows:
    /// the agent it runs must not be able to approve itself.
    pub(super) async fn start(catalog: &CatalogArguments) -> Result<Self, CliError> {
        hide_from_agents();
        let token = random_text()?;
        let arguments = ServerArguments {
            host: Some("127.0.0.1".to_owned()),
            port: Some(0),
            token: Some(token.clone()),
            catalog: catalog.clone(),
            ..ServerArguments::default()
        };
        let mut settings = Settings::settle(&arguments)?;
        settings.exposure.origins.clear();
        let filter = std::env::var("SANDBOX_AGENT_LOG").ok().filter(|filter| !filter.is_empty());
        crate::logs::start(filter.as_deref().unwrap_or(LOG_FILTER), settings.log_format);
        let running = Running::start(settings).await?;
        let server = Server::at(&format!("http://{}", running.address()), Some(&token))?;
        Ok(Self::Own(server, Box::new(running)))
    }

    pub(super) const fn server(&self) -> &Server {
        match self {
            Self::There(server) | Self::Own(server, _) => server,
        }
    }

    /// Ends what was started. Nothing of it is left afterwards.
    pub(super) async fn stop(self) {
        if let Self::Own(_, running) = self {
            running.stop().await;
        }
    }
}

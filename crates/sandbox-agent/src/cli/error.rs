//! Why a command failed, what to do about it, and which exit code says so.

use std::io;

use agent_catalog::CatalogError;
use serde_json::{Value, json};

use super::client::Refusal;
use super::exit::Exit;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error("{0}")]
    Settings(#[from] crate::settings::SettingsError),
    #[error("{0}")]
    Server(#[from] crate::server::ServerError),
    #[error("{}", explain(.0))]
    Catalog(#[from] CatalogError),
    #[error("{failed} of {total} agents could not be installed")]
    SomeFailed { failed: usize, total: usize },
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    NotFound(String),
    #[error(
        "cannot reach {url}: {reason}; is the server running? start it with `sandbox-agent server`, or name it with --url"
    )]
    Unreachable { url: String, reason: String },
    #[error("the connection to {url} broke: {reason}; try again")]
    Broken { url: String, reason: String },
    #[error("{0}")]
    Refused(Box<Refusal>),
    #[error("{0}")]
    AgentFailed(String),
    #[error("the turn stopped early: {0}")]
    TurnIncomplete(String),
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Files(#[from] sandbox_fs::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The reason, with what a person at a terminal needs to go on.
fn explain(error: &CatalogError) -> String {
    match (error, error.output_tail()) {
        (CatalogError::UnknownAgent { .. }, _) => {
            format!("{error}; `sandbox-agent agents list` shows those there are")
        }
        (_, Some(tail)) => format!("{error}\n{tail}"),
        (_, None) => error.to_string(),
    }
}

impl CliError {
    /// Something about a local file.
    pub(super) fn local(path: &std::path::Path, error: &io::Error) -> Self {
        let text = format!("{}: {error}", path.display());
        if error.kind() == io::ErrorKind::NotFound {
            Self::NotFound(text)
        } else {
            Self::Io(io::Error::other(text))
        }
    }

    /// The exit code that says this.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::NotFound(_)
            | Self::Files(sandbox_fs::Error::NotFound { .. })
            | Self::Catalog(CatalogError::UnknownAgent { .. } | CatalogError::InvalidAgentId { .. }) => {
                Exit::NotFound
            }
            Self::Unreachable { .. } => Exit::Unreachable,
            Self::Refused(refusal) => refusal.exit(),
            Self::AgentFailed(_) | Self::Catalog(_) | Self::SomeFailed { .. } => Exit::AgentFailed,
            Self::TurnIncomplete(_) => Exit::TurnIncomplete,
            Self::Interrupted => Exit::Interrupted,
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::OutputClosed,
            Self::Settings(_) | Self::Server(_) | Self::Broken { .. } | Self::Files(_) | Self::Io(_) => {
                Exit::Failed
            }
        }
    }

    /// The same for programs.
    pub(super) fn to_json(&self) -> Value {
        let mut told = json!({"error": self.to_string(), "exitCode": self.exit().code()});
        if let Self::Refused(refusal) = self {
            told["problem"] = refusal.document().clone();
        }
        told
    }
}

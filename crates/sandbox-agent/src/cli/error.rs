//! Why a command failed, what to do about it, and its exit code.

use std::io;

use agent_catalog::CatalogError;
use serde_json::{Value, json};

use super::client::ReportedProblem;
use super::exit::Exit;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error("{0}")]
    Settings(#[from] crate::settings::SettingsError),
    #[error("{0}")]
    Server(#[from] crate::server::ServerError),
    #[error("{}", catalog_message(.0))]
    Catalog(#[from] CatalogError),
    #[error("{failed} of {total} agents could not be {action}")]
    AgentsFailed { failed: usize, total: usize, action: &'static str },
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    NotFound(String),
    #[error(
        "cannot reach {url}: {reason}; is the server running? start it with `sandbox-agent server`, or name another with --url"
    )]
    Unreachable { url: String, reason: String },
    #[error("the connection to {url} broke: {reason}; try again")]
    ConnectionLost { url: String, reason: String },
    #[error("{0}")]
    Problem(Box<ReportedProblem>),
    #[error("{0}")]
    AgentFailed(String),
    #[error("the turn stopped early: {0}")]
    TurnIncomplete(String),
    #[error(
        "a permission was rejected, because there is no terminal to ask on; decide with --allow once, --allow always or --allow reject"
    )]
    PermissionRejected,
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Files(#[from] sandbox_fs::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The reason, with what to do next.
fn catalog_message(error: &CatalogError) -> String {
    match (error, error.output_tail()) {
        (CatalogError::UnknownAgent { .. }, _) => {
            format!("{error}; `sandbox-agent agents list` lists the available agents")
        }
        (_, Some(tail)) => format!("{error}\n{tail}"),
        (_, None) => error.to_string(),
    }
}

impl CliError {
    /// An error about a local file.
    pub(super) fn local(path: &std::path::Path, error: &io::Error) -> Self {
        let text = format!("{}: {error}", path.display());
        if error.kind() == io::ErrorKind::NotFound {
            Self::NotFound(text)
        } else {
            Self::Io(io::Error::other(text))
        }
    }

    /// The exit code of this error.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::NotFound(_)
            | Self::Files(sandbox_fs::Error::NotFound { .. })
            | Self::Catalog(CatalogError::UnknownAgent { .. } | CatalogError::InvalidAgentId { .. }) => {
                Exit::NotFound
            }
            Self::Unreachable { .. } => Exit::Unreachable,
            Self::Problem(problem) => problem.exit(),
            Self::AgentFailed(_) | Self::Catalog(_) | Self::AgentsFailed { .. } => Exit::AgentFailed,
            Self::TurnIncomplete(_) => Exit::TurnIncomplete,
            Self::PermissionRejected => Exit::PermissionRejected,
            Self::Interrupted => Exit::Interrupted,
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::OutputClosed,
            Self::Settings(_)
            | Self::Server(_)
            | Self::ConnectionLost { .. }
            | Self::Files(_)
            | Self::Io(_) => Exit::Failed,
        }
    }

    /// The error for programs.
    pub(super) fn to_json(&self) -> Value {
        let mut json = json!({"error": self.to_string(), "exitCode": self.exit().code()});
        if let Self::Problem(problem) = self {
            json["problem"] = problem.document().clone();
        }
        json
    }
}

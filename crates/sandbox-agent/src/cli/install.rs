//! `sandbox-agent install`: installs agents on this machine, without a server.

use agent_catalog::{Catalog, CatalogError, InstallOutcome, InstallRequest};
use clap::Args;
use serde_json::json;

use super::agents::json_name;
use super::error::CliError;
use super::output::{Format, install_with_progress, print_json, print_line, refresh_registry};
use crate::settings::{CatalogArguments, catalog_options};

/// Which agents to install, and which versions.
#[derive(Debug, Args)]
pub(super) struct InstallArguments {
    /// The agent's id; see `sandbox-agent agents list`
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    agent: Option<String>,
    /// Install every agent that supports this machine
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    version: VersionArguments,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    catalog: CatalogArguments,
}

impl InstallArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }
}

/// The parts of an install request.
#[derive(Debug, Clone, Args)]
pub(super) struct VersionArguments {
    /// Install again even if the agent is installed
    #[arg(long)]
    reinstall: bool,
    /// Version of the native agent
    #[arg(long, value_name = "VERSION")]
    agent_version: Option<String>,
    /// Version of the ACP process
    #[arg(long, value_name = "VERSION")]
    agent_process_version: Option<String>,
}

impl From<VersionArguments> for InstallRequest {
    fn from(arguments: VersionArguments) -> Self {
        let VersionArguments { reinstall, agent_version, agent_process_version } = arguments;
        Self { reinstall, agent_version, agent_process_version }
    }
}

pub(super) async fn run(arguments: InstallArguments) -> Result<(), CliError> {
    let catalog = Catalog::new(catalog_options(&arguments.catalog)?)?;
    let format = arguments.format();
    let request = InstallRequest::from(arguments.version);
    let Some(agent) = arguments.agent else { return install_all(&catalog, &request, format).await };
    let outcome = install_with_progress(&catalog, &agent, request).await;
    if let Err(CliError::Catalog(CatalogError::UnknownAgent { .. })) = &outcome {
        // The agent may only be in the registry.
        refresh_registry(&catalog).await;
    }
    match format {
        Format::Json => print_json(&outcome?),
        Format::Text => show(&agent, &outcome?),
    }
}

/// Installs all agents. A failed install does not stop the others.
async fn install_all(catalog: &Catalog, request: &InstallRequest, format: Format) -> Result<(), CliError> {
    refresh_registry(catalog).await;
    let agents = catalog.agents().await;
    let (mut installed, mut failed) = (serde_json::Map::new(), 0);
    for info in &agents {
        match install_with_progress(catalog, &info.id, request.clone()).await {
            Ok(outcome) => {
                if format == Format::Text {
                    show(&info.id, &outcome)?;
                }
                installed.insert(info.id.clone(), json!(outcome));
            }
            Err(error) => {
                failed += 1;
                eprintln!("{}: {error}", info.id);
            }
        }
    }
    if format == Format::Json {
        print_json(&json!({ "installed": installed }))?;
    }
    if failed > 0 {
        return Err(CliError::InstallsFailed { failed, total: agents.len() });
    }
    Ok(())
}

fn show(agent: &str, outcome: &InstallOutcome) -> Result<(), CliError> {
    let verb = if outcome.already_installed { "is already installed" } else { "installed" };
    print_line(format!("{agent} {verb}"))?;
    for artifact in &outcome.artifacts {
        let version = artifact.version.as_deref().unwrap_or("-");
        let (kind, source) = (json_name(&artifact.kind), json_name(&artifact.source));
        print_line(format!("  {kind}  {version}  from {source}  {}", artifact.path.display()))?;
    }
    Ok(())
}

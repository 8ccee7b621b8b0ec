//! `sandbox-agent install`: installs agents on this machine. It needs no server.

use agent_catalog::{Catalog, CatalogError, InstallOutcome, InstallRequest};
use clap::Args;
use serde_json::{Map, json};

use super::agents::json_name;
use super::each_agent::{self, Done};
use super::error::CliError;
use super::output::{Format, install_with_progress, print_json, print_line, refresh_registry};
use crate::settings::{CatalogArguments, catalog_options};

/// Which agents to install, and which versions.
#[derive(Debug, Args)]
pub(super) struct InstallArguments {
    /// The agents' ids; see `sandbox-agent agents list`
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "AGENT")]
    agents: Vec<String>,
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
    let agents = if arguments.all {
        refresh_registry(&catalog).await;
        catalog.agents().await.into_iter().map(|info| info.id).collect()
    } else {
        arguments.agents
    };
    let names_version = request.agent_version.is_some() || request.agent_process_version.is_some();
    if names_version && !arguments.all && agents.len() > 1 {
        return Err(CliError::Usage(
            "a version belongs to one agent; install the others separately".to_owned(),
        ));
    }
    let Done { results, outcome } = each_agent::run(&agents, "installed", async |agent| {
        let installed = install_with_progress(&catalog, agent, request.clone()).await;
        if let Err(CliError::Catalog(CatalogError::UnknownAgent { .. })) = &installed {
            // The agent may only be in the registry.
            refresh_registry(&catalog).await;
        }
        let installed = installed?;
        if format == Format::Text {
            show(agent, &installed)?;
        }
        Ok(installed)
    })
    .await;
    match (format, results.as_slice()) {
        (Format::Text, _) => {}
        // A single agent that the user named is printed as an object, not as a list.
        (Format::Json, [(_, installed)]) if agents.len() == 1 && !arguments.all => print_json(installed)?,
        (Format::Json, []) if agents.len() == 1 && !arguments.all => {}
        (Format::Json, _) => {
            let installed: Map<_, _> =
                results.into_iter().map(|(agent, installed)| (agent, json!(installed))).collect();
            print_json(&json!({ "installed": installed }))?;
        }
    }
    outcome
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

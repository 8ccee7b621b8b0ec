//! `sandbox-agent update`: updates installed agents to the version that is offered now. It needs no server.

use agent_catalog::{Catalog, CatalogError, InstallRequest, Source};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, json};

use super::each_agent::{self, Done};
use super::error::CliError;
use super::output::{Format, install_with_progress, print_json, print_line, refresh_registry};
use crate::settings::{CatalogArguments, catalog_options};

/// Which agents to update.
#[derive(Debug, Args)]
pub(super) struct UpdateArguments {
    /// The agents' ids [default: all installed agents]
    #[arg(value_name = "AGENT")]
    agents: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    catalog: CatalogArguments,
}

impl UpdateArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }
}

/// The versions before and after an update; equal if there was nothing to update.
#[derive(Debug, Serialize)]
struct Updated {
    from: Option<String>,
    to: Option<String>,
}

pub(super) async fn run(arguments: UpdateArguments) -> Result<(), CliError> {
    let catalog = Catalog::new(catalog_options(&arguments.catalog)?)?;
    let format = arguments.format();
    let agents = match arguments.agents {
        named if !named.is_empty() => named,
        _ => catalog.installed().iter().map(ToString::to_string).collect(),
    };
    if agents.is_empty() && format == Format::Text {
        return print_line("no agents are installed");
    }
    catalog.registry().refresh().await;
    refresh_registry(&catalog).await;
    let Done { results, outcome } = each_agent::run(&agents, "updated", async |agent| {
        let updated = update(&catalog, agent).await?;
        if format == Format::Text {
            show(agent, &updated)?;
        }
        Ok(updated)
    })
    .await;
    if format == Format::Json {
        let results: Map<_, _> =
            results.into_iter().map(|(agent, updated)| (agent, json!(updated))).collect();
        print_json(&json!({ "agents": results }))?;
    }
    outcome
}

async fn update(catalog: &Catalog, agent: &str) -> Result<Updated, CliError> {
    let info = catalog.agent(agent).await?;
    if matches!(info.source, Some(Source::Builtin | Source::Custom)) {
        return Err(CliError::Usage(format!(
            "{agent} is a command without versions; there is nothing to update"
        )));
    }
    let is_up_to_date = match catalog.is_up_to_date(agent).await {
        // The message of this error names the command that installs the agent.
        Err(error @ CatalogError::AgentNotInstalled { .. }) => {
            return Err(CliError::NotFound(error.to_string()));
        }
        other => other?,
    };
    if !is_up_to_date {
        let request = InstallRequest { reinstall: true, ..InstallRequest::default() };
        install_with_progress(catalog, agent, request).await?;
    }
    Ok(Updated { from: info.version, to: catalog.agent(agent).await?.version })
}

fn show(agent: &str, Updated { from, to }: &Updated) -> Result<(), CliError> {
    let name = |version: &Option<String>| version.clone().unwrap_or_else(|| "an unknown version".to_owned());
    if from == to {
        print_line(format!("{agent} is up to date: {}", name(to)))
    } else {
        print_line(format!("{agent} updated from {} to {}", name(from), name(to)))
    }
}

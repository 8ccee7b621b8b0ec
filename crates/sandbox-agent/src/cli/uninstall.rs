//! `sandbox-agent uninstall`: removes agents from this machine. It needs no server.

use agent_catalog::{Catalog, CatalogError, Source, Uninstalled};
use clap::Args;
use serde_json::json;

use super::each_agent::{self, Done};
use super::error::CliError;
use super::output::{Format, print_json, print_line};
use crate::settings::{CatalogArguments, catalog_options};

/// Which agents to uninstall.
#[derive(Debug, Args)]
pub(super) struct UninstallArguments {
    /// The agents' ids; see `sandbox-agent agents list`
    #[arg(required = true, value_name = "AGENT")]
    agents: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    catalog: CatalogArguments,
}

impl UninstallArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }
}

pub(super) async fn run(arguments: UninstallArguments) -> Result<(), CliError> {
    let catalog = Catalog::new(catalog_options(&arguments.catalog)?)?;
    let format = arguments.format();
    let Done { results, outcome } = each_agent::run(&arguments.agents, "uninstalled", async |agent| {
        let uninstalled = match catalog.uninstall(agent).await {
            Err(CatalogError::AgentNotInstalled { .. }) => return Err(not_installed(&catalog, agent).await),
            other => other?,
        };
        if format == Format::Text {
            show(&uninstalled)?;
        }
        Ok(uninstalled)
    })
    .await;
    if format == Format::Json {
        let results: Vec<Uninstalled> = results.into_iter().map(|(_, uninstalled)| uninstalled).collect();
        print_json(&json!({ "uninstalled": results }))?;
    }
    outcome
}

/// Why there is nothing to uninstall.
async fn not_installed(catalog: &Catalog, agent: &str) -> CliError {
    match catalog.agent(agent).await {
        Err(error) => error.into(),
        Ok(info) => match info.source {
            Some(Source::Builtin) => {
                CliError::Usage(format!("{agent} is part of sandbox-agent and cannot be uninstalled"))
            }
            Some(Source::Custom) => CliError::Usage(format!(
                "{agent} is your own command and is not installed; remove it from --agent or the config file"
            )),
            _ => CliError::NotFound(format!("{agent} is not installed")),
        },
    }
}

fn show(uninstalled: &Uninstalled) -> Result<(), CliError> {
    let Uninstalled { agent, version, still_in_use } = uninstalled;
    let version = version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    print_line(format!("{agent}{version} uninstalled"))?;
    for directory in still_in_use {
        print_line(format!("  {directory} is still in use; it is deleted when its last process has ended"))?;
    }
    Ok(())
}

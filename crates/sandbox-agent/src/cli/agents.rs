//! `sandbox-agent agents`: the agents on this machine.

use std::path::PathBuf;

use agent_catalog::{AgentInfo, BundleSummary, Catalog};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;

use super::error::CliError;
use super::output::{Format, print_json, print_line, refresh_registry};
use super::table;
use crate::settings::{CatalogArguments, catalog_options};

#[derive(Debug, Args)]
pub(super) struct AgentsArguments {
    #[command(subcommand)]
    command: Option<AgentsCommand>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    catalog: CatalogArguments,
}

#[derive(Debug, Subcommand)]
enum AgentsCommand {
    /// List all agents and their state
    List,
    /// Show one agent in detail
    Show {
        /// The agent's id
        id: String,
        /// Start the agent once to find out its models, modes and options
        #[arg(long)]
        probe: bool,
    },
    /// Write a lock file of the installed agents: versions, sources, checksums
    Lock {
        /// The file to write
        #[arg(short, long, default_value = "agents.lock")]
        output: PathBuf,
    },
    /// Pack installed agents and their runtimes for machines without network access
    Bundle {
        /// The agents' ids
        #[arg(required = true)]
        ids: Vec<String>,
        /// The file to write
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Install agents from a bundle; every checksum is verified
    Unbundle {
        /// The bundle to read
        file: PathBuf,
    },
}

impl AgentsArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }
}

pub(super) async fn run(arguments: AgentsArguments) -> Result<(), CliError> {
    let catalog = Catalog::new(catalog_options(&arguments.catalog)?)?;
    let format = arguments.format();
    match arguments.command.unwrap_or(AgentsCommand::List) {
        AgentsCommand::List => list(&catalog, format).await,
        AgentsCommand::Show { id, probe: false } => print_json(&catalog.agent(&id).await?),
        AgentsCommand::Show { id, probe: true } => print_json(&catalog.agent_probed(&id).await?),
        AgentsCommand::Lock { output } => {
            let lock = catalog.write_lock(&output).await?;
            match format {
                Format::Json => print_json(&lock),
                Format::Text => print_line(format!("wrote {}", output.display())),
            }
        }
        AgentsCommand::Bundle { ids, output } => {
            let summary = catalog.bundle(&ids, &output).await?;
            match format {
                Format::Json => print_json(&summary),
                Format::Text => print_line(format!(
                    "packed {} into {}: {} files, {} bytes",
                    names(&summary),
                    output.display(),
                    summary.files,
                    summary.bytes,
                )),
            }
        }
        AgentsCommand::Unbundle { file } => {
            let summary = catalog.unbundle(&file).await?;
            match format {
                Format::Json => print_json(&summary),
                Format::Text => print_line(format!("restored {}: {} files", names(&summary), summary.files)),
            }
        }
    }
}

async fn list(catalog: &Catalog, format: Format) -> Result<(), CliError> {
    refresh_registry(catalog).await;
    let agents = catalog.agents().await;
    if format == Format::Json {
        return print_json(&json!({ "agents": agents }));
    }
    let rows: Vec<[String; 2]> = agents.iter().map(|info| [info.id.clone(), describe(info)]).collect();
    table::print(["AGENT", "STATE"], &rows)
}

fn describe(info: &AgentInfo) -> String {
    if !info.installed {
        return format!("not installed; {}", info.install.command);
    }
    let version = info.version.as_deref().unwrap_or("");
    let source = info.source.as_ref().map(json_name).unwrap_or_default();
    let verified =
        info.verified.as_ref().map(json_name).map(|state| format!(", verified: {state}")).unwrap_or_default();
    format!("{version} from {source}{verified}").trim().to_owned()
}

fn names(summary: &BundleSummary) -> String {
    summary.agents.iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// The name of an enum value in JSON.
pub(super) fn json_name(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

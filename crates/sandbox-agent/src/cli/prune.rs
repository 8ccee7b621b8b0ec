//! `sandbox-agent prune`: deletes files that no installed agent needs. It needs no server.

use agent_catalog::{Catalog, Pruned};
use clap::Args;

use super::error::CliError;
use super::output::{Format, print_json, print_line};
use super::progress::size;
use crate::settings::{CatalogArguments, catalog_options};

/// The arguments of `sandbox-agent prune`.
#[derive(Debug, Args)]
pub(super) struct PruneArguments {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    catalog: CatalogArguments,
}

impl PruneArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }
}

pub(super) async fn run(arguments: PruneArguments) -> Result<(), CliError> {
    let catalog = Catalog::new(catalog_options(&arguments.catalog)?)?;
    let pruned = catalog.prune().await?;
    match arguments.format() {
        Format::Json => print_json(&pruned),
        Format::Text => show(&pruned),
    }
}

fn show(pruned: &Pruned) -> Result<(), CliError> {
    for directory in &pruned.removed {
        print_line(format!("deleted {} ({})", directory.path.display(), size(directory.bytes)))?;
    }
    for agent in &pruned.skipped {
        print_line(format!("left {agent} alone: it is being installed"))?;
    }
    if pruned.runtimes_skipped {
        print_line("left the runtimes alone: an agent is being installed")?;
    }
    let freed = pruned.removed.iter().map(|directory| directory.bytes).sum();
    print_line(format!("freed {}", size(freed)))
}

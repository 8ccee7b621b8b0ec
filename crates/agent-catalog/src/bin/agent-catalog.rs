//! A minimal command line for the catalog, for development and for tests that need a second process.
//!
//! `agent-catalog DIR install AGENT...` installs and probes, and prints one JSON line per agent;
//! `agent-catalog DIR bundle FILE AGENT...`, `agent-catalog DIR unbundle FILE`, `agent-catalog DIR lock FILE`.
//! The `sandbox-agent` command has the complete versions of these.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use agent_catalog::{Catalog, CatalogOptions, InstallRequest};
use serde_json::{Value, json};

const USAGE: &str =
    "usage: agent-catalog DIR install AGENT... | bundle FILE AGENT... | unbundle FILE | lock FILE";

fn main() -> Result<(), Box<dyn Error>> {
    process_supervisor::become_supervisor_if_asked();
    run()
}

#[tokio::main]
async fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, command, rest @ ..] = arguments.as_slice() else { return Err(USAGE.into()) };
    let mut options = CatalogOptions::new(directory);
    if let Ok(url) = std::env::var("SANDBOX_AGENT_ACP_REGISTRY_URL") {
        options.registry_url = url;
    }
    let catalog = Catalog::new(options)?;
    match (command.as_str(), rest) {
        ("install", agents) => {
            for agent in agents {
                println!("{}", install(&catalog, agent).await);
            }
        }
        ("bundle", [file, agents @ ..]) => {
            println!("{}", serde_json::to_string(&catalog.bundle(agents, Path::new(file)).await?)?);
        }
        ("unbundle", [file]) => {
            println!("{}", serde_json::to_string(&catalog.unbundle(Path::new(file)).await?)?);
        }
        ("lock", [file]) => drop(catalog.write_lock(Path::new(file)).await?),
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

async fn install(catalog: &Catalog, agent: &str) -> Value {
    let start = Instant::now();
    match catalog.install(agent, InstallRequest::default()).await {
        Err(error) => json!({
            "agent": agent, "code": error.code(), "error": error.to_string(), "output": error.output_tail(),
        }),
        Ok(outcome) => {
            let seconds = start.elapsed().as_secs_f32();
            let info = catalog.agent_probed(agent).await.ok();
            json!({ "agent": agent, "seconds": seconds, "outcome": outcome, "info": info })
        }
    }
}

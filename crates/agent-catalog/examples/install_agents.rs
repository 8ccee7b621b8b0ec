//! Installs agents for real and says what happened: `cargo run --example install_agents -- DIR AGENT...`.

use std::time::Instant;

use agent_catalog::{Catalog, CatalogOptions, InstallRequest};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: install_agents DIR AGENT...")?;
    let mut options = CatalogOptions::new(directory);
    if let Ok(url) = std::env::var("SANDBOX_AGENT_ACP_REGISTRY_URL") {
        options.registry_url = url;
    }
    let catalog = Catalog::new(options)?;
    for agent in arguments {
        let start = Instant::now();
        match catalog.install(&agent, InstallRequest::default()).await {
            Err(error) => println!("{agent}: {error}\n{}", error.output_tail().unwrap_or_default()),
            Ok(outcome) => {
                let info = catalog.agent_probed(&agent).await?;
                let versions: Vec<_> =
                    outcome.artifacts.iter().map(|a| format!("{:?} {:?}", a.kind, a.version)).collect();
                println!(
                    "{agent}: {:.1}s verified={:?} artifacts=[{}] models={} modes={} error={:?} {:?}",
                    start.elapsed().as_secs_f32(),
                    info.verified,
                    versions.join(", "),
                    info.models.is_some(),
                    info.modes.is_some(),
                    info.install.error,
                    info.config_error,
                );
            }
        }
    }
    Ok(())
}

//! The engine that the server and `prompt` share: agents of the catalog, run on this machine.

use std::sync::Arc;

use acp_instances::{Instances, Limits, LocalInstances};
use agent_catalog::{Catalog, CatalogError, CatalogOptions};
use process_supervisor::Confinement;

use crate::launcher::CatalogLauncher;

/// The argument of [`crate::main_with`]: receives the local engine and returns the engine to use.
pub(crate) type WrapEngine = fn(Arc<dyn Instances>) -> Arc<dyn Instances>;

/// Prepares this process to start agents and installers. Must be called before the first one is started.
pub(crate) fn prepare_to_launch(confinement: Confinement) {
    confinement.set_for_all();
    // Adopting orphans is safe, because this process starts only supervisors.
    if let Err(error) = process_supervisor::adopt_orphans() {
        tracing::warn!(%error, "processes of an agent that kills its supervisor can live on");
    }
    match confinement {
        Confinement::Signals if !Confinement::is_supported() => tracing::warn!(
            "this kernel cannot keep agents from sending signals to the server; Linux 6.12 with Landlock can"
        ),
        Confinement::Signals => tracing::info!("agents can send signals only to their own processes"),
        Confinement::Off => {
            tracing::info!(
                "agents can send signals to every process of their user (--agent-confinement off)"
            );
        }
    }
}

/// The engine, with the catalog that its agents come from. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    /// The engine that all callers use.
    pub(crate) instances: Arc<dyn Instances>,
    /// The local engine. Only `/metrics` reads it; all calls go through `instances`.
    pub(crate) local: LocalInstances,
    pub(crate) catalog: Catalog,
}

impl Engine {
    /// An engine without instances, apart from those in the journal. Must be called inside a tokio runtime. `list_hint` is part of the error about an
    /// unknown agent: it says how to list the agents.
    pub(crate) fn new(
        limits: Limits,
        options: CatalogOptions,
        list_hint: &'static str,
        journal: Option<journal::Opened>,
        wrap: WrapEngine,
    ) -> Result<Self, CatalogError> {
        let catalog = Catalog::new(options)?;
        let launcher = CatalogLauncher::new(catalog.clone(), list_hint);
        let local = match journal {
            Some(opened) => LocalInstances::with_journal(limits, Arc::new(launcher), opened),
            None => LocalInstances::new(limits, Arc::new(launcher)),
        };
        Ok(Self { instances: wrap(Arc::new(local.clone())), local, catalog })
    }
}
